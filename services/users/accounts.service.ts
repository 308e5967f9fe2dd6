// Self-service of accounts: registration, verification of the e-mail address, password reset.
// Owns: the tokens sent by mail (32 random bytes, stored as a hash, single use) and the origin of a
// registration until it is verified. A newer verification token revokes the older one. Up to three reset
// tokens are valid at once; using one revokes all.
// Promises: a request for a mail gives the same answer after the same work whether the account exists or not.
// The token is created when the mail is sent, so its clear text is never stored.
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
