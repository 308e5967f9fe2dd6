// One connection outside the pool, for the work around the start; failing to get it is one sentence for the operator.
import pg from "pg";
import { propertyOf, StartError } from "../start-error.ts";

const connectMsMax = 10_000;
// https://www.postgresql.org/docs/18/errcodes-appendix.html: no such login or a wrong password, no such database
const unknownToServer = new Set(["28000", "28P01", "3D000"]);

/** The server answers, and knows neither this login nor, perhaps, this database: `npm run migrate` may be still to come. */
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
    // Reads the files that the URL names (`sslrootcert` and the like).
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectMsMax });
    // A connection that breaks fails the statement under way; without a listener its `error` event would end the process.
    client.on("error", () => {});
    await client.connect();
    return client;
  } catch (error) {
    const unprepared =
      setting === "DATABASE_APP_URL" && unknownToServer.has(String(propertyOf(error, "code")));
    const sentence = `The database cannot be reached with ${setting}: ${reasonOf(error)}`;
    if (unprepared)
      throw new UnpreparedDatabase(`${sentence}; if this database is new, run \`npm run migrate\` first.`);
    throw new StartError(`${sentence}.`);
  }
}

/** Passwords never appear in what the driver says; the first line is the whole reason. */
function reasonOf(error: unknown): string {
  const texts = [propertyOf(error, "message"), propertyOf(error, "code")];
  const text = texts.find((each): each is string => typeof each === "string" && each !== "");
  return text?.split("\n")[0] ?? "unknown error";
}
