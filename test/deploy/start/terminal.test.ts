// The service in a terminal, through npm, in a folder with a space in its name: Ctrl-C and closing the window stop all of it.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyCheckout, systemPath } from "../../support/checkout.ts";
import { descendantsOf } from "../../support/descendants.ts";
import { allGone } from "../../support/processes.ts";
import { ctrlC, describeWithTerminal, openTerminal, type Terminal } from "../../support/terminal.ts";

let parent = "";
let open: Terminal[] = [];
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "records-terminal-"));
  await copyCheckout(join(parent, "check out"));
});
afterAll(async () => {
  for (const terminal of open) terminal.close();
  await rm(parent, { recursive: true, force: true, maxRetries: 20 });
});

async function npmStart() {
  const env = { PATH: systemPath(), HOME: parent, PORT: "0" };
  const terminal = openTerminal("exec npm start", join(parent, "check out"), env);
  open.push(terminal);
  const [, port = ""] = await terminal.shows(/API {3}http:\/\/localhost:(\d+)\/api/);
  return { terminal, port: Number(port), pids: await descendantsOf(terminal.pid) };
}

/** A request whose body is still on its way. @returns what sends the rest and answers with all that comes back */
async function halfSent(port: number): Promise<() => Promise<string>> {
  const body = JSON.stringify({
    email: "admin@demo.example",
    subdomain: "demo",
    password: "Open-Sesame-4711",
  });
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    answer += chunk;
  });
  const ended = new Promise<string>((resolve) => socket.once("close", () => resolve(answer)));
  socket.on("error", () => {});
  const head = `POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  await new Promise<void>((resolve) => socket.write(head + body.slice(0, 20), () => resolve()));
  // The server has it: what is asked on another connection later was answered.
  await (await fetch(`http://127.0.0.1:${port}/api/auth/tenants`)).arrayBuffer();
  return () => {
    socket.write(body.slice(20));
    return ended;
  };
}

describeWithTerminal("npm start in a terminal", () => {
  it("Ctrl-C answers what is under way, ends everything, and the exit code is 0", async () => {
    const { terminal, port, pids } = await npmStart();
    await terminal.shows(/Ctrl-C stops it in order\./);
    expect(terminal.shown()).toContain(`Everything is kept in ${join(parent, "check out", ".data")}.`);
    expect(terminal.shown()).toMatch(/32mINFO.*making the database: this is done once/);
    const rest = await halfSent(port);
    terminal.type(ctrlC);
    // It has begun to stop: nobody new is let in.
    await expect(untilRefused(port)).resolves.toBeUndefined();
    expect(await rest()).toMatch(/^HTTP\/1\.1 200 OK[^]*"access_token"/);
    expect(await terminal.exited).toBe(0);
    await allGone(pids);
    expect(terminal.shown()).not.toMatch(/error|^\{/im);
  });

  it("closing the window ends everything, PostgreSQL too", async () => {
    const { terminal, pids } = await npmStart();
    expect(pids.length).toBeGreaterThan(4);
    terminal.close();
    await terminal.exited;
    await allGone(pids);
  });
});

async function untilRefused(port: number): Promise<void> {
  for (let turn = 0; turn < 1_000; turn++) {
    const refused = await fetch(`http://127.0.0.1:${port}/api/auth/tenants`).then(
      async (answer) => void (await answer.arrayBuffer()),
      () => true,
    );
    // What was waited for.
    if (refused === true) return;
  }
  throw new Error("still lets requests in");
}
