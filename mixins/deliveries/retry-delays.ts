// Seconds before each try of a delivery, the first included; so many tries there are. For all channels in one place, as
// whichever channel's worker makes the deliveries of an event makes those of every channel.
import type { Config } from "../../host/settings/settings.ts";
import type { Channel } from "./channel.ts";

/** A person wants to know soon or not at all, so a day is the end. */
const messenger = [0, 2, 10, 60, 300, 1_800, 7_200, 14_400, 28_800, 43_200];

export type RetryDelays = Record<Channel<unknown>["name"], readonly number[]>;

export const retryDelaysOf = ({ webhookRetrySeconds }: Config): RetryDelays => ({
  webhook: webhookRetrySeconds,
  messenger,
});
