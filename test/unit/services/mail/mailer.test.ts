import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { chmod, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import PostalMime from "postal-mime";
import { createMailer, MailFailed, MailRefused } from "../../../../services/mail/mailer.ts";
import type { MailerOptions } from "../../../../services/mail/mailer.ts";
import { greetingName, smtpOptions } from "../../../../services/mail/smtp-options.ts";
import { catchMails, certificate } from "./smtp-catcher.ts";

const token = "aB3_".repeat(10) + "xyz";
const message = {
  to: "anna@care.example",
  subject: "Grüße: confirm",
  text: `Hello Özgür,\n\nhttps://care.example/verify-email?token=${token}\n.\n..\nFrom here on\n`,
  html: `<p>Hello Özgür</p><a href="https://care.example/verify-email?token=${token}">x</a>`,
};
const from = "Care desk <desk@care.example>";
const short = { connectMs: 400, greetingMs: 400, socketMs: 400, totalMs: 1_000 };

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "mail-"));
});
afterAll(() => rm(directory, { recursive: true }));

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function mailer(options: Partial<MailerOptions> = {}) {
  const made = createMailer({ from, directory, ...options });
  closers.push(() => made.close());
  return made;
}

async function server(options: Parameters<typeof catchMails>[0] = {}) {
  const made = await catchMails(options);
  closers.push(() => made.close());
  return made;
}

/** A server that accepts connections and lets `talk` do the rest. */
async function rawServer(talk: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    talk(socket);
  }).listen(0, "127.0.0.1");
  await new Promise<void>((resolve) => listener.once("listening", resolve));
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => listener.close(resolve));
  });
  // A TCP server has an address object once it listens.
  return (listener.address() as AddressInfo).port;
}

const parsed = (raw: Uint8Array) => PostalMime.parse(raw);
const asUnix = (text = "") => text.replaceAll("\r\n", "\n").trim();

async function expectWhole(raw: Uint8Array): Promise<void> {
  const mail = await parsed(raw);
  expect(mail.from).toEqual({ address: "desk@care.example", name: "Care desk" });
  expect(mail.to).toEqual([{ address: "anna@care.example", name: "" }]);
  expect(mail.subject).toBe(message.subject);
  expect(asUnix(mail.text)).toBe(message.text.trim());
  expect(asUnix(mail.html)).toBe(message.html);
  expect(mail.headers.map(({ key }) => key)).toEqual(
    expect.arrayContaining(["auto-submitted", "message-id", "date"]),
  );
  expect(mail.headers.filter(({ key }) => key === "x-mailer" || key === "bcc")).toEqual([]);
}

describe("over SMTP", () => {
  it("delivers text and HTML whole", async () => {
    const { port, mails } = await server();
    await mailer({ smtpUrl: `smtp://127.0.0.1:${port}` }).send(message);
    expect(mails).toMatchObject([{ from: "desk@care.example", to: ["anna@care.example"], secure: false }]);
    await expectWhole(mails[0]?.raw ?? Buffer.of());
  });

  it("signs in with a percent-encoded password", async () => {
    const { port, mails } = await server({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _, done) =>
        password === "p@ss:w/rd" ? done(null, { user: username ?? "" }) : done(new Error("no")),
    });
    const good = mailer({ smtpUrl: `smtp://desk%40care.example:p%40ss%3Aw%2Frd@127.0.0.1:${port}` });
    expect(await good.verify()).toBe(true);
    await good.send(message);
    expect(mails).toMatchObject([{ user: "desk@care.example" }]);
    const bad = mailer({ smtpUrl: `smtp://desk:wrong@127.0.0.1:${port}` });
    expect(await bad.verify()).toBe(false);
    await expect(bad.send(message)).rejects.toBeInstanceOf(MailFailed);
    await expect(bad.send(message)).rejects.not.toThrow(/wrong/);
  });

  it("sends 50 mails through at most two connections", async () => {
    let connections = 0;
    const { port, mails } = await server({ onConnect: (_, done) => (connections++, done()) });
    const post = mailer({ smtpUrl: `smtp://127.0.0.1:${port}` });
    await Promise.all(Array.from({ length: 50 }, () => post.send(message)));
    expect(mails).toHaveLength(50);
    expect(connections).toBeLessThanOrEqual(2);
  });

  it.each([
    [550, MailRefused],
    [450, MailFailed],
  ])("tells a recipient refused with %i", async (responseCode, kind) => {
    const { port, mails } = await server({
      onRcptTo: (_, __, done) => done(Object.assign(new Error("no such user"), { responseCode })),
    });
    await expect(mailer({ smtpUrl: `smtp://127.0.0.1:${port}` }).send(message)).rejects.toBeInstanceOf(kind);
    expect(mails).toHaveLength(0);
  });

  it.each([
    [554, MailRefused],
    [451, MailFailed],
  ])("tells a content refused with %i", async (responseCode, kind) => {
    const { port } = await server({
      onData(stream, _, done) {
        stream.resume();
        stream.on("end", () => done(Object.assign(new Error("not this"), { responseCode })));
      },
    });
    await expect(mailer({ smtpUrl: `smtp://127.0.0.1:${port}` }).send(message)).rejects.toBeInstanceOf(kind);
  });

  it("refuses more than 100 mails under way", async () => {
    const port = await rawServer(() => undefined);
    const post = mailer({ smtpUrl: `smtp://127.0.0.1:${port}`, timeouts: short });
    const results = await Promise.allSettled(Array.from({ length: 101 }, () => post.send(message)));
    expect(results.every(({ status }) => status === "rejected")).toBe(true);
    expect(String(results[100]?.status === "rejected" && results[100].reason)).toMatch(
      /100 mails are under way/,
    );
  });

  it("finishes what is under way when it is closed, and takes no more", async () => {
    const { port, mails } = await server();
    const post = mailer({ smtpUrl: `smtp://127.0.0.1:${port}` });
    const sending = post.send(message);
    await post.close();
    await sending;
    expect(mails).toHaveLength(1);
    await expect(post.send(message)).rejects.toBeInstanceOf(MailFailed);
    expect(await post.verify()).toBe(false);
  });
});

describe("a bad mail server holds nobody up", () => {
  const greeting = "220 mail.test ESMTP\r\n";
  it.each<[string, (socket: Socket) => void]>([
    ["never greets", () => undefined],
    ["greets and falls silent", (socket) => socket.write(greeting)],
    ["trickles an endless answer", trickle],
    ["hangs up", (socket) => socket.end()],
    ["speaks another language", (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
    ["floods", (socket) => void socket.write(`220-${"x".repeat(1_000)}\r\n`.repeat(2_000))],
  ])("that %s", async (_, talk) => {
    const port = await rawServer(talk);
    const post = mailer({ smtpUrl: `smtp://127.0.0.1:${port}`, timeouts: short });
    const startedAtMs = performance.now();
    await expect(post.send(message)).rejects.toBeInstanceOf(MailFailed);
    expect(await post.verify()).toBe(false);
    expect(performance.now() - startedAtMs).toBeLessThan(4_000);
  });

  it("that is not there", async () => {
    const gone = await catchMails();
    await gone.close();
    const post = mailer({ smtpUrl: `smtp://127.0.0.1:${gone.port}` });
    expect(await post.verify()).toBe(false);
    await expect(post.send(message)).rejects.toBeInstanceOf(MailFailed);
  });

  function trickle(socket: Socket): void {
    socket.write(greeting);
    const timer = setInterval(() => socket.write("250-still here\r\n"), 50);
    socket.on("close", () => clearInterval(timer));
  }
});

describe("encryption", () => {
  it("refuses a server without STARTTLS where it is demanded", async () => {
    const { port, mails } = await server({ hideSTARTTLS: true, disabledCommands: ["STARTTLS"] });
    const post = mailer({ smtpUrl: `smtp://127.0.0.1:${port}?tls=required` });
    expect(await post.verify()).toBe(false);
    await expect(post.send(message)).rejects.toBeInstanceOf(MailFailed);
    expect(mails).toHaveLength(0);
  });

  it("refuses a certificate nobody vouches for", async () => {
    const { port, mails } = await server();
    await expect(
      mailer({ smtpUrl: `smtp://127.0.0.1:${port}?tls=required` }).send(message),
    ).rejects.toBeInstanceOf(MailFailed);
    expect(mails).toHaveLength(0);
  });

  describe("with a trusted certificate", () => {
    const trusted = getCACertificates("default");
    beforeAll(() => setDefaultCACertificates([...trusted, certificate]));
    afterAll(() => setDefaultCACertificates(trusted));

    it("is used after STARTTLS", async () => {
      const { port, mails } = await server();
      await mailer({ smtpUrl: `smtp://127.0.0.1:${port}?tls=required` }).send(message);
      expect(mails).toMatchObject([{ secure: true }]);
    });
    it("is used from the first byte by smtps", async () => {
      const { port, mails } = await server({ secure: true });
      await mailer({ smtpUrl: `smtps://127.0.0.1:${port}` }).send(message);
      expect(mails).toMatchObject([{ secure: true }]);
    });
  });

  it.each([
    ["smtp://mail.example", { port: 587, secure: false, requireTLS: true, ignoreTLS: false }],
    ["smtp://mail.example:25", { port: 25, requireTLS: true }],
    ["smtp://10.0.0.1", { requireTLS: true }],
    ["smtp://localhost.example", { requireTLS: true }],
    ["smtp://127.0.0.1.example", { requireTLS: true }],
    ["smtp://mail.example?tls=off", { requireTLS: false, ignoreTLS: true }],
    ["smtp://localhost:1025", { port: 1025, requireTLS: false, ignoreTLS: true }],
    ["smtp://[::1]:1025", { host: "::1", requireTLS: false }],
    ["smtp://127.0.0.9?tls=required", { requireTLS: true, ignoreTLS: false }],
    ["smtps://mail.example", { port: 465, secure: true }],
    ["smtps://mail.example?tls=off", { secure: true }],
    ["smtp://a%40b:c%3Ad@mail.example", { auth: { user: "a@b", pass: "c:d" } }],
  ])("%s", (url, expected) => expect(smtpOptions(url)).toMatchObject(expected));
});

describe("a message that reaches into the headers is refused", () => {
  it.each([
    ["to", "a@b.example\r\nBcc: c@d.example"],
    ["to", "a@b.example\nBcc: c@d.example"],
    ["to", "a@b.example, c@d.example"],
    ["to", "a@b.example; c@d.example"],
    ["to", "Anna <a@b.example>"],
    ["to", '"a@evil.example x"@b.example'],
    ["to", "a@b@c"],
    ["to", "a@"],
    ["to", "@b.example"],
    ["to", ""],
    ["to", "group: a@b.example;"],
    ["to", "a\0@b.example"],
    ["subject", "Hello\r\nBcc: c@d.example"],
    ["subject", "Hello\nX: y"],
    ["subject", "Hello\0"],
  ])("%s %j", async (field, value) => {
    const { port, mails } = await server();
    const post = mailer({ smtpUrl: `smtp://127.0.0.1:${port}` });
    await expect(post.send({ ...message, [field]: value })).rejects.toBeInstanceOf(MailRefused);
    expect(mails).toHaveLength(0);
  });
});

describe("as files", () => {
  const emls = async () => (await readdir(folder)).sort();
  let folder = "";
  beforeAll(() => {
    folder = join(directory, "deep", "mail");
  });

  it("writes each mail whole, for its owner alone", async () => {
    const post = mailer({ directory: folder });
    expect(await post.verify()).toBe(true);
    await post.send(message);
    const [name = "", ...others] = await emls();
    expect(others).toEqual([]);
    expect(name).toMatch(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-[0-9a-f]{12}\.eml$/);
    await expectWhole(await readFile(join(folder, name)));
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  });

  it("closes a folder that others could read", async () => {
    await chmod(folder, 0o755);
    await mailer({ directory: folder }).send(message);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it("leaves a link in one piece, to be found by plain tools", async () => {
    await mailer({ directory: folder }).send(message);
    const raw = await readFile(join(folder, (await emls()).at(-1) ?? ""), "utf8");
    expect(raw).toContain(`/verify-email?token=${token}`);
  });

  it("keeps the newest 1000, and removes the drafts of writers that died", async () => {
    const old = (index: number) => `2001-01-01T00-00-00.000Z-${String(index).padStart(12, "0")}.eml`;
    for (let index = 0; index < 1_000; index++) await writeFile(join(folder, old(index)), "old");
    await writeFile(join(folder, `${old(0)}.tmp`), "draft");
    await writeFile(join(folder, "notes.txt"), "not ours");
    await Promise.all([1, 2, 3].map(() => mailer({ directory: folder }).send(message)));
    const names = await emls();
    expect(names.filter((name) => name.endsWith(".eml"))).toHaveLength(1_000);
    expect(names).not.toContain(old(0));
    expect(names).toContain(old(999));
    expect(names.filter((name) => name.endsWith(".tmp"))).toEqual([]);
    expect(names).toContain("notes.txt");
  });

  it("tells a folder that cannot be made", async () => {
    const file = join(directory, "file");
    await writeFile(file, "");
    const post = mailer({ directory: join(file, "mail") });
    expect(await post.verify()).toBe(false);
    await expect(post.send(message)).rejects.toBeInstanceOf(MailFailed);
  });
});

describe("who it says it is", () => {
  it.each([
    ["https://records.clinic.example/base", "records.clinic.example"],
    ["https://xn--mnchen-3ya.example", "xn--mnchen-3ya.example"],
    ["http://localhost:3000", undefined],
    ["https://gateway", undefined],
    ["https://192.0.2.7", undefined],
    ["https://[2001:db8::1]", undefined],
  ])("%s: %s", (publicUrl, name) => expect(greetingName(publicUrl)).toBe(name));

  it("the server is greeted by that name", async () => {
    const names: string[] = [];
    const { port } = await server({
      onMailFrom(_address, session, done) {
        names.push(session.hostNameAppearsAs || "");
        done();
      },
    });
    const greetAs = greetingName("https://records.clinic.example");
    await mailer({ smtpUrl: `smtp://127.0.0.1:${port}`, greetAs }).send(message);
    expect(names).toEqual(["records.clinic.example"]);
  });
});

describe("addresses with letters beyond ASCII", () => {
  const bothWays = async (made: ReturnType<typeof mailer>) =>
    Promise.all(
      ["anna@care.example", "anna@bücher.example", "jörg@care.example"].map((to) => made.delivers(to)),
    );
  it("a server without SMTPUTF8 delivers to their domains alone", async () => {
    const { port } = await server({ hideSMTPUTF8: true });
    expect(await bothWays(mailer({ smtpUrl: `smtp://127.0.0.1:${port}` }))).toEqual([true, true, false]);
  });
  it("one with it to all", async () => {
    const { port } = await server();
    expect(await bothWays(mailer({ smtpUrl: `smtp://127.0.0.1:${port}` }))).toEqual([true, true, true]);
  });
  it("where nobody answers it is tried, as it is with files", async () => {
    expect(await bothWays(mailer({ smtpUrl: "smtp://127.0.0.1:1" }))).toEqual([true, true, true]);
    expect(await bothWays(mailer())).toEqual([true, true, true]);
  });
});
