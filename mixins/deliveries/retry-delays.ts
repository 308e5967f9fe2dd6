// Seconds before each attempt of a delivery, the first one included; the length of the list is the number of attempts. The delays
// of all channels are kept together, because the worker of any channel may fan out an event to the targets of every channel.
import type { Config } from "../../host/settings/settings.ts";
import type { Channel } from "./channel.ts";

/** A message to a person is useful soon or not at all, so the last attempt comes within about a day. */
const messenger = [0, 2, 10, 60, 300, 1_800, 7_200, 14_400, 28_800, 43_200];

export type RetryDelays = Record<Channel<unknown>["name"], readonly number[]>;

/** @returns the delays in seconds by channel: those of webhooks from the settings, those of the messenger fixed */
export const retryDelaysOf = ({ webhookRetrySeconds }: Config): RetryDelays => ({
  webhook: webhookRetrySeconds,
  messenger,
});
