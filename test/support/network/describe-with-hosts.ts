// Suites of a cluster on hosts in network namespaces of their own. Not every machine can have them: `.ci/run` says when it
// cannot.
import { describe, it } from "@jest/globals";
import { describeWithNats } from "../describe-with-nats.ts";
import { whyNoHosts } from "./hosts.ts";

export function describeWithHosts(name: string, body: () => void): void {
  const reason = whyNoHosts();
  if (reason === undefined) return describeWithNats(name, body);
  describe(`${name} (skipped: ${reason})`, () => {
    it.skip(reason, () => {});
  });
}
