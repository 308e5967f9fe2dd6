// The header by which a client shows that its device has signed in to the account before. A value that is not one of ours counts
// as absent: it is never a reason to refuse.
import { inHeader, optional } from "./params/modifiers.ts";
import { text } from "./params/rules.ts";

export const deviceHint = {
  device_id: optional(
    inHeader(
      text({
        description: "The `X-Device-Id` that this account's last sign-in on this device was answered with.",
      }),
      "X-Device-Id",
    ),
  ),
};
