/** Settings of a gateway's bounds for clients: connections and memory. */
import { setting } from "./entry.ts";
import * as read from "./readers.ts";

export const httpSettings = {
  connectionsPerAddressMax: setting(
    "CONNECTIONS_PER_ADDRESS_MAX",
    read.wholeNumber(10, 10_000),
    "1000",
    "Most connections of one address (in IPv6, of one /64) to a gateway, which takes 10000 in all; proxies of `TRUST_PROXY` are not counted",
  ),
  bodiesBytesMax: setting(
    "BODIES_BYTES_MAX",
    read.wholeNumber(33_554_432, 17_179_869_184),
    "67108864",
    "Most bytes of request bodies that one gateway holds at a time; more are refused with 503",
  ),
};
