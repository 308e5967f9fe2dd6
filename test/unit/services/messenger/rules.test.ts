// The messenger's pure rules by tables: codes, updates, answers of the Bot API, who may see what, and what is said.
import { describe, expect, it } from "@jest/globals";
import { randomInt } from "node:crypto";
import { readAnswer } from "../../../../services/messenger/bot-answer.rules.ts";
import { hashCode, newCode, readCode } from "../../../../services/messenger/code.rules.ts";
import { maySee, refusedKinds, deliveredKinds } from "../../../../services/messenger/kinds.rules.ts";
import { messageOf } from "../../../../services/messenger/message.rules.ts";
import { displayNameOf, readUpdate } from "../../../../services/messenger/update.rules.ts";
import { eventKinds } from "../../../../services/shared/event-kinds.ts";
import { type Role, roles } from "../../../../services/shared/roles.ts";

describe("codes", () => {
  it("are drawn letter by letter", () => {
    let n = 0;
    expect(newCode(() => n++)).toBe("BCDF-GHJK");
    expect(newCode((below) => below - 1)).toBe("ZZZZ-ZZZZ");
  });
  it("differ, and can all be read", () => {
    const codes = Array.from({ length: 1_000 }, () => newCode((below) => randomInt(below)));
    expect(new Set(codes).size).toBe(1_000);
    for (const code of codes) expect(readCode(code)).toBe(code.replace("-", ""));
    expect(new Set(codes.join("").replaceAll("-", "")).size).toBe(20);
  });
  it.each([
    ["BCDF-GHJK", "BCDFGHJK"],
    ["bcdfghjk", "BCDFGHJK"],
    [" bcdf — ghjk ", "BCDFGHJK"],
    ["B-C-D-F-G-H-J-K", "BCDFGHJK"],
    ["", undefined],
    ["BCDF-GHJ", undefined],
    ["BCDF-GHJKL", undefined],
    ["ACDF-GHJK", undefined],
    ["BCDF-GHJ0", undefined],
    ["BCDF_GHJK", undefined],
    ["ÄCDF-GHJK", undefined],
    ["BCDF-GHJK\u0000", undefined],
  ])("%j is read as %j", (typed, read) => expect(readCode(typed)).toBe(read));
  it("hash differently under another key", () => {
    const [a, b] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    expect(hashCode(a, "BCDFGHJK")).toHaveLength(32);
    expect(hashCode(a, "BCDFGHJK").equals(hashCode(b, "BCDFGHJK"))).toBe(false);
    // HMAC-SHA256 as openssl computes it.
    expect(hashCode(Buffer.from("key"), "BCDFGHJK").toString("hex")).toBe(
      "3618d7ab7b79b367749fefd0a2794199314d74b124f6fe3b6ecd8ad55289c0be",
    );
  });
});

const privately = (text: unknown, from: object = { first_name: "Ada" }) => ({
  update_id: 7,
  message: { chat: { id: 5, type: "private" }, from, text },
});

describe("updates", () => {
  it.each([
    ["/start", "start"],
    ["/START", "start"],
    ["/start@records_bot", "start"],
    ["/start deep-link", "start"],
    ["  /stop  ", "stop"],
    ["/status", "status"],
    ["/started", "help"],
    ["start", "help"],
    ["say /start", "help"],
    ["", "help"],
    [undefined, "help"],
    [7, "help"],
  ])("%j in a private chat is %s", (text, command) => {
    expect(readUpdate(privately(text))).toEqual({
      id: 7,
      action: { what: "command", chatId: 5, command, displayName: "Ada" },
    });
  });
  it.each([
    ["a command in a group", { message: { chat: { id: -5, type: "group" }, text: "/start" } }, "not_private"],
    ["a command in a channel", { message: { chat: { id: -5, type: "channel" }, text: "/x" } }, "not_private"],
    ["talk in a group", { message: { chat: { id: -5, type: "supergroup" }, text: "hello" } }, undefined],
    [
      "a block",
      { my_chat_member: { chat: { id: 5, type: "private" }, new_chat_member: { status: "kicked" } } },
      "blocked",
    ],
    [
      "an unblock",
      { my_chat_member: { chat: { id: 5, type: "private" }, new_chat_member: { status: "member" } } },
      undefined,
    ],
    [
      "a farewell to a group",
      { my_chat_member: { chat: { id: -5, type: "group" }, new_chat_member: { status: "kicked" } } },
      undefined,
    ],
    ["nothing known", { poll: {} }, undefined],
    ["a message without a chat", { message: { text: "/start" } }, undefined],
    ["a message that is none", { message: "text" }, undefined],
    [
      "a chat that is no number",
      { message: { chat: { id: "5", type: "private" }, text: "/start" } },
      undefined,
    ],
  ])("%s", (_case, fields, what) => {
    const update = readUpdate({ update_id: 7, ...fields });
    expect(update?.id).toBe(7);
    expect(update?.action?.what).toBe(what);
  });
  it.each([[null], [7], ["text"], [[]], [{}], [{ update_id: "7" }], [{ update_id: 1e300 }]])(
    "%j is none",
    (value) => expect(readUpdate(value)).toBeUndefined(),
  );
  it.each([
    [{ first_name: "Ada", last_name: "Lovelace" }, "Ada Lovelace"],
    [{ first_name: "\u202EAda\u0000\n", last_name: "  L " }, "Ada L"],
    [{ username: "ada" }, "ada"],
    [{ first_name: " \u200B " }, ""],
    [{ first_name: 7 }, ""],
    [{}, ""],
    [{ first_name: "😀".repeat(200) }, "😀".repeat(128)],
    [{ first_name: "\uD83D" }, "\uFFFD"],
  ])("the name of %j is %j", (from, name) => expect(displayNameOf(from)).toBe(name));
});

describe("answers", () => {
  const told = (status: number, description: string, more: object = {}) =>
    readAnswer(status, JSON.stringify({ ok: false, description, ...more }), undefined);
  it("200 with ok is one", () => {
    expect(readAnswer(200, '{"ok":true,"result":[1]}', undefined)).toEqual({ ok: true, result: [1] });
  });
  it.each([
    [401, "Unauthorized", "refused"],
    [404, "Not Found", "refused"],
    [409, "Conflict: terminated by other getUpdates request", "conflict"],
    [403, "Forbidden: bot was blocked by the user", "chat_gone"],
    [403, "Forbidden: user is deactivated", "chat_gone"],
    [400, "Bad Request: chat not found", "chat_gone"],
    [400, "Bad Request: message is too long", "rejected"],
    [500, "Internal Server Error", "unreachable"],
    [502, "Bad Gateway", "unreachable"],
    [302, "", "unreachable"],
    [200, "not ok after all", "unreachable"],
  ])("%i %s is %s", (status, description, trouble) => {
    expect(told(status, description)).toMatchObject({ ok: false, trouble });
  });
  it.each([
    [{ parameters: { retry_after: 7 } }, undefined, 7],
    [{}, "9", 9],
    [{}, undefined, 1],
    [{ parameters: { retry_after: -3 } }, undefined, 1],
    [{ parameters: { retry_after: "soon" } }, undefined, 1],
    [{ parameters: { retry_after: 1e12 } }, undefined, 86_400],
  ])("429 with %j and the header %j asks for %i s", (more, header, seconds) => {
    const body = JSON.stringify({ ok: false, description: "Too Many Requests", ...more });
    expect(readAnswer(429, body, header)).toMatchObject({
      trouble: "rate_limited",
      retryAfterSeconds: seconds,
    });
  });
  it.each(["", "<html>", "null", "[]", '"x"', '{"ok":true'])("%j is none", (body) => {
    expect(readAnswer(200, body, undefined)).toMatchObject({ ok: false, trouble: "unreachable" });
  });
});

describe("what a role is told", () => {
  const kindsOf: Record<Role, number> = {
    superadmin: eventKinds.length,
    admin: eventKinds.length,
    head_doctor: 13,
    doctor: 4,
    nurse: 4,
    registrar: 4,
  };
  it.each(roles)("%s", (role) => {
    expect(eventKinds.filter((kind) => maySee(role, kind))).toHaveLength(kindsOf[role]);
    const all = deliveredKinds(role, ["*"]);
    expect(all).toEqual(
      kindsOf[role] === eventKinds.length ? ["*"] : eventKinds.filter((k) => maySee(role, k)),
    );
    expect(refusedKinds(role, ["*", "patient.created"])).toEqual([]);
  });
  it("of what was asked for when the role was higher, only what is left", () => {
    expect(deliveredKinds("nurse", ["payment.failed", "record.created"])).toEqual(["record.created"]);
    expect(deliveredKinds("nurse", ["payment.failed"])).toEqual([]);
    expect(refusedKinds("nurse", ["payment.failed", "record.created", "*"])).toEqual(["payment.failed"]);
  });
});

describe("messages", () => {
  const at = "2026-01-02T03:04:05.678Z";
  it("say kind, ids and time", () => {
    expect(messageOf("record.created", '{"record_id":7,"patient_id":9}', at)).toBe(
      "A record was added (record.created)\nrecord_id: 7\npatient_id: 9\n2026-01-02 03:04:05 UTC",
    );
  });
  it.each(eventKinds)("of %s hold nothing that is not listed, whatever the payload says", (kind) => {
    const canary = "Canary Lovelace";
    const names = ["patient_id", "user_id", "name", "full_name", "notes", "fields", "reason", "payment_id"];
    const payload = Object.fromEntries(names.map((name) => [name, canary]));
    const message = messageOf(kind, JSON.stringify({ ...payload, amount: "Canary", nested: payload }), at);
    expect(message).not.toContain("Canary");
    expect(message).toContain(kind);
    expect(message.length).toBeLessThan(4_096);
  });
  it.each(["null", "[]", "7", '"text"', "{}"])("bear a payload of %s", (payload) => {
    expect(messageOf("user.created", payload, at)).toBe(
      "A user was created (user.created)\n2026-01-02 03:04:05 UTC",
    );
  });
});
