// Runs before every command of package.json that needs packages: fetches them if the installed ones are not those of the lock
// file, and reports what it does. It needs no installed package, and runs on the machine's own Node.js from version 20 on.
// `--omit=dev` leaves out packages that only development needs.
import { spawn } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { hasDev, whatIsMissing } from "./installed.mjs";

const signOfLifeMs = 15_000;
/** How long an installation may continue without an answer of the registry: everything may be in npm's cache. */
const unreachableMsMax = 45_000;
const probeMsMax = 20_000;
const textMax = 20_000;
const linesShown = 12;
const network =
  /\b(E(?:NOTFOUND|AI_AGAIN|CONN\w+|TIMEDOUT|HOSTUNREACH|NETUNREACH|PIPE|PROTO)|ERR_SOCKET_TIMEOUT)\b/;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const withDev = !process.argv.includes("--omit=dev");

const say = (line) => process.stderr.write(`${line}\n`);

/** Runs the same npm that runs this script, with the settings of this folder. */
function npm(args, onText) {
  const { npm_execpath: program } = process.env;
  const [command, ...first] = program?.endsWith(".js") ? [process.execPath, program] : ["npm"];
  const child = spawn(command, [...first, ...args], { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", onText);
  const ended = new Promise((resolve) => {
    child.once("error", (error) => {
      onText(error.message);
      resolve(1);
    });
    child.once("close", (code, signal) => resolve(signal ?? code));
  });
  return { child, ended };
}

/** @returns why the registry cannot be reached, or undefined if it can or has answered */
async function unreachable(children) {
  let text = "";
  const probe = npm(["ping", "--fetch-retries=0", `--fetch-timeout=${probeMsMax}`], (more) => {
    text = (text + more).slice(-textMax);
  });
  children.add(probe.child);
  const late = setTimeout(() => probe.child.kill(), probeMsMax);
  const code = await probe.ended;
  clearTimeout(late);
  children.delete(probe.child);
  if (code === 0) return undefined;
  return typeof code === "string" ? "no answer" : network.exec(text)?.[1];
}

async function fetchPackages(reason) {
  say(
    `Fetching packages (${reason}). This is done once, and again after an update; it takes a minute or so.`,
  );
  const begun = Date.now();
  const children = new Set();
  let text = "";
  const omit = withDev || hasDev(root) ? [] : ["--omit=dev"];
  const patience = ["--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-factor=3"];
  const install = npm(["install", ...omit, ...patience], (more) => {
    text = (text + more).slice(-textMax);
  });
  children.add(install.child);
  let why;
  void unreachable(children).then((found) => {
    if (found === undefined || install.child.exitCode !== null) return;
    why = found;
    say(`The packages' registry cannot be reached (${found}); npm goes on trying for a moment.`);
    setTimeout(() => install.child.kill(), Math.max(0, unreachableMsMax - (Date.now() - begun))).unref();
  });
  const life = setInterval(
    () => say(`Still fetching packages (${Math.round((Date.now() - begun) / 1000)} s) …`),
    signOfLifeMs,
  );
  // Ctrl-C in the terminal also reaches npm; an interrupted installation is detected at the next start.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.once(signal, () => {
      for (const child of children) child.kill();
      process.exit(130);
    });
  const code = await install.ended;
  clearInterval(life);
  children.delete(install.child);
  for (const child of children) child.kill();
  return code === 0 ? 0 : failed(network.exec(text)?.[1] ?? why, text);
}

function failed(why, text) {
  if (why !== undefined)
    say(
      `The packages cannot be fetched: the registry is not reached (${why}). Check the network, or npm's settings \`registry\` and \`proxy\` (\`npm config get registry\`), and start again.`,
    );
  else {
    say("The packages cannot be fetched. npm says:");
    say(text.trim().split("\n").slice(0, linesShown).join("\n"));
  }
  return 1;
}

const reason = whatIsMissing(root, withDev);
process.exitCode = reason === undefined ? 0 : await fetchPackages(reason);
