// A database as the owner's programs leave it for the services, and with nothing in it: tables, roles, the job queue.
import { provision } from "../../host/database/provision.ts";
import { startDatabase, type TestDatabase } from "../support/service.ts";

export async function startMigratedDatabase(): Promise<TestDatabase> {
  const database = await startDatabase();
  try {
    await provision({ ownerUrl: database.url, bootSecret: "boot-secret-of-tests".repeat(3) });
    return database;
  } catch (error) {
    await database.stop();
    throw error;
  }
}
