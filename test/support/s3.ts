// A real S3 server for tests (versitygw over a folder), on a free loopback port, with credentials, versions and object lock.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { S3Options } from "../../mixins/store/s3-connection.ts";
import { freePort, takesConnections } from "./nats.ts";
import { findProgram, restartable } from "./programs.ts";
import { eventually } from "./service.ts";

/** The one that .ci/run installs. */
export const versitygw = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
const login = { accessKey: "records-tests", secretKey: "store-login-of-tests" };

export const program = findProgram("versitygw");

export interface S3Server {
  /** Of a bucket that nobody has made yet. */
  options(bucket: string): S3Options;
  /** Another login, which may do nothing yet: rights come by a bucket's policy. */
  addUser(accessKey: string, secretKey: string): Promise<void>;
  /** Where it keeps its buckets, one folder each. */
  folder: string;
  processId(): number;
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<void>;
  /** Again on the same port, over the same folder. */
  start(): Promise<void>;
  /** Ends it and removes what it kept. */
  stop(): Promise<void>;
}

export interface S3Setup {
  /** PEM of the server's certificate and its key. */
  tls?: { certificate: string; key: string };
  /** For its buckets; by default it makes one of its own. */
  folder?: string;
  credentials?: { accessKey: string; secretKey: string };
  region?: string;
}

export async function startS3({
  tls,
  folder,
  credentials = login,
  region = "eu-test-1",
}: S3Setup = {}): Promise<S3Server> {
  if (program === undefined) throw new Error("no versitygw on PATH");
  const home = await mkdtemp(join(tmpdir(), "records-s3-"));
  const buckets = folder ?? join(home, "buckets");
  for (const each of ["versions", "metadata", "accounts"]) await mkdir(join(home, each));
  await mkdir(buckets, { recursive: true });
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const endpoint = `${tls === undefined ? "http" : "https"}://${address}`;
  const options = [
    "--port",
    address,
    "--region",
    region,
    "--quiet",
    "--keep-alive",
    "--iam-dir",
    join(home, "accounts"),
  ];
  if (tls !== undefined) {
    await writeFile(join(home, "certificate.pem"), tls.certificate);
    await writeFile(join(home, "key.pem"), tls.key, { mode: 0o600 });
    options.push("--cert", join(home, "certificate.pem"), "--key", join(home, "key.pem"));
  }
  // Metadata as files: not every file system of a test machine has extended attributes.
  options.push(
    "posix",
    "--versioning-dir",
    join(home, "versions"),
    "--sidecar",
    join(home, "metadata"),
    buckets,
  );
  const logins = { ROOT_ACCESS_KEY: credentials.accessKey, ROOT_SECRET_KEY: credentials.secretKey };
  const isThere = () => eventually(() => takesConnections(port));
  const { processId, start, end } = restartable(program, options, isThere, { env: logins });
  await start();
  return {
    options: (bucket) => ({
      endpoint,
      bucket,
      region,
      ...credentials,
      pathStyle: true,
    }),
    addUser: async (accessKey, secretKey) => {
      const as = ["admin", "--region", region, "--endpoint-url", endpoint];
      const user = ["--access", accessKey, "--secret", secretKey, "--role", "user"];
      const env = { ADMIN_ACCESS_KEY: credentials.accessKey, ADMIN_SECRET_KEY: credentials.secretKey };
      await promisify(execFile)(program ?? "", [...as, "create-user", ...user], { env });
    },
    folder: buckets,
    processId,
    kill: () => end("SIGKILL"),
    start,
    stop: async () => {
      await end("SIGTERM");
      await rm(home, { recursive: true, force: true });
    },
  };
}
