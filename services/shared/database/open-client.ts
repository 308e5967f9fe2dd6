// Opens one connection outside the pool, for work around the start. A failure becomes one sentence for the operator.
import pg from "pg";
import { errorCode, propertyOf, StartError } from "../start-error.ts";
import { isUnknownLogin } from "./sql-states.ts";

const connectMsMax = 10_000;

/** The server answers, but does not know this login or this database: perhaps `npm run migrate` has not run yet. */
export class UnpreparedDatabase extends StartError {}

/**
 * @param setting the environment variable that `url` came from
 * @throws StartError when the server cannot be reached or refuses the login
 */
export async function openClient(
  url: string,
  setting: "DATABASE_URL" | "DATABASE_APP_URL",
): Promise<pg.Client> {
  try {
    // The driver reads the files that the URL names (`sslrootcert` and others).
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectMsMax });
    // A broken connection also fails the running statement; without a listener its `error` event would end the process.
    client.on("error", () => {});
    await client.connect();
    return client;
  } catch (error) {
    const unprepared = setting === "DATABASE_APP_URL" && isUnknownLogin(errorCode(error));
    const sentence = `The database cannot be reached with ${setting}: ${reasonOf(error)}`;
    if (unprepared)
      throw new UnpreparedDatabase(`${sentence}; if this database is new, run \`npm run migrate\` first.`);
    throw new StartError(`${sentence}.`);
  }
}

/** The driver's messages never contain passwords. The first line is the whole reason. */
function reasonOf(error: unknown): string {
  const texts = [propertyOf(error, "message"), propertyOf(error, "code")];
  const text = texts.find((each): each is string => typeof each === "string" && each !== "");
  return text?.split("\n")[0] ?? "unknown error";
}
