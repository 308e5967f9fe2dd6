// What whoever prepares a database is told of the environment: nothing else is read, so that it need not hold the other secrets.
const wanted = /^(?:DATABASE_URL|BOOT_SECRET|DATABASE_LOGINS|DATABASE_PASSWORD_[A-Z0-9]+)(?:_FILE)?$/;

export const forMigration = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => wanted.test(name)));
