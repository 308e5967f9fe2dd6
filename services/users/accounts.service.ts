// Accounts in their owner's hands: registering, verifying the e-mail address, resetting the password.
// Owns the tokens that travel by mail (32 random bytes, stored hashed, single use; a newer verification voids the older, up
// to three resets are open at once and using one voids all) and what is remembered of a registration until it is verified.
// Promises: asking for a mail answers the same, after the same work, whether there is such an account or not; the
// token is made when the mail is sent, so it is never at rest in clear.
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { implement } from "../shared/bus/bus.ts";
import { accountsContract } from "./accounts.contract.ts";
import { findRecipient, mintMailToken } from "./mint-mail-token.ts";
import { register } from "./register.ts";
import { renewHash } from "./renew-hash.ts";
import { requestReset, resendVerification } from "./request-mail.ts";
import { resetPassword } from "./reset-password.ts";
import { verifyEmail } from "./verify-email.ts";

const accounts: ServiceSchema = {
  name: "accounts",
  mixins: [database()],
  actions: implement(accountsContract, {
    "accounts.register": register,
    "accounts.verify_email": verifyEmail,
    "accounts.resend_verification": resendVerification,
    "accounts.request_reset": requestReset,
    "accounts.reset_password": resetPassword,
    "accounts.renew_hash": renewHash,
    "accounts.mint_mail_token": mintMailToken,
    "accounts.recipient": findRecipient,
  }),
};

export default accounts;
