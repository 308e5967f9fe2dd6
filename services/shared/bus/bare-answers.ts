// Moleculer sends the whole meta of a call back with its answer: the signed caller, again, and whatever the callee has put
// there, for the caller's context to take over. Nothing of ours travels that way. So an answer leaves without it, and one
// that comes with it (of an older version, or of a callee that would like to be believed) has it taken off.
import type { Middleware } from "moleculer";

interface Packet {
  type: string;
  payload: { meta?: object };
}
type Publish = (packet: Packet) => Promise<unknown>;
type Handle = (command: string, packet: Packet) => Promise<unknown>;

export function bareAnswers(): Middleware {
  const bare = (packet: Packet) => {
    if (packet.type === "RES") packet.payload.meta = {};
    return packet;
  };
  const hooks = {
    name: "bare-answers",
    transitPublish: (next: Publish) => (packet: Packet) => next(bare(packet)),
    transitMessageHandler: (next: Handle) => (command: string, packet: Packet) => next(command, bare(packet)),
  };
  // Moleculer declares these two hooks as if they answered what the wrapped functions answer.
  return hooks as unknown as Middleware;
}
