// Selects the environment for preparing a database: no other variable is read, so that the program does not need the other
// secrets.
const wanted = /^(?:DATABASE_URL|BOOT_SECRET|DATABASE_LOGINS|DATABASE_PASSWORD_[A-Z0-9]+)(?:_FILE)?$/;

/** @returns the environment without other variables */
export const forMigration = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => wanted.test(name)));
