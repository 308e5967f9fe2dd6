// The near-limit to compare with: the same three requests as a good engineer would write them on Fastify and pg with
// nothing else around them. No roles, no validation beyond types, no audit, no log, no rate limits, no row-level
// security (it works as the database's owner). It listens on loopback and prints its address.
import { argon2, createSecretKey, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import Fastify, { type FastifyRequest } from "fastify";
import jwt from "jsonwebtoken";
import pg from "pg";
import { parsePhc } from "../../services/shared/passwords/phc.ts";
import { listSchema, loginSchema, profileSchema } from "./bare-schemas.ts";

const derive = promisify(argon2);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });
const key = createSecretKey(randomBytes(32));
const tokenSeconds = 43_200;

const userColumns = `u.id, u.email, u.full_name, u.role, u.tenant_id, u.department_id, u.can_see_all_patients,
  u.is_active, u.email_verified, u.created_at`;
const live = `from sessions s
  join users u on u.tenant_id = s.tenant_id and u.id = s.user_id and u.session_epoch = s.user_epoch
  where s.id = $1 and s.ended_at is null and s.expires_at > now() and u.is_active and u.deleted_at is null`;

const statements = {
  me: `select ${userColumns}, (select d.name from departments d where d.tenant_id = u.tenant_id and d.id = u.department_id)
    as department_name ${live}`,
  holder: `select u.id, u.tenant_id, u.role ${live}`,
  page: `select ${userColumns} from users u where u.tenant_id = $1 and u.deleted_at is null order by u.id limit $2 offset $3`,
  count: "select count(*)::integer as total from users where tenant_id = $1 and deleted_at is null",
  account: `select u.id, u.tenant_id, u.role, u.password_hash, u.session_epoch as user_epoch, t.session_epoch as tenant_epoch
    from tenants t join users u on u.tenant_id = t.id
    where t.subdomain = $1 and t.deleted_at is null and t.is_active
      and lower(u.email) = lower($2) and u.deleted_at is null and u.is_active and u.email_verified`,
  open: `insert into sessions (id, tenant_id, user_id, user_epoch, tenant_epoch, expires_at)
    values ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))`,
};

async function query<Row extends pg.QueryResultRow>(
  name: keyof typeof statements,
  values: unknown[],
): Promise<Row[]> {
  return (await pool.query<Row>({ name, text: statements[name], values })).rows;
}

class Refused extends Error {
  readonly statusCode = 401;
}

function sessionOf(request: FastifyRequest): string {
  try {
    const claims = jwt.verify(request.headers.authorization?.slice(7) ?? "", key, { algorithms: ["HS256"] });
    if (typeof claims !== "string" && typeof claims.sid === "string") return claims.sid;
  } catch {
    // Told below, as every other token that is not ours.
  }
  throw new Refused();
}

const app = Fastify({ logger: false });

app.get("/me", { schema: profileSchema }, async (request) => {
  const [row] = await query("me", [sessionOf(request)]);
  if (row === undefined) throw new Refused();
  const department = row.department_id === null ? null : { id: row.department_id, name: row.department_name };
  return { ...row, department };
});

app.get<{ Querystring: { page: number; limit: number } }>(
  "/users",
  { schema: listSchema },
  async (request) => {
    const [holder] = await query<{ tenant_id: number }>("holder", [sessionOf(request)]);
    if (holder === undefined) throw new Refused();
    const { page, limit } = request.query;
    const [items, [counted]] = await Promise.all([
      query("page", [holder.tenant_id, limit, (page - 1) * limit]),
      query<{ total: number }>("count", [holder.tenant_id]),
    ]);
    const total = counted?.total ?? 0;
    return { items, total, page, limit, pages: Math.ceil(total / limit) };
  },
);

interface Account {
  id: number;
  tenant_id: number;
  role: string;
  password_hash: string;
  user_epoch: number;
  tenant_epoch: number;
}

async function isRight(account: Account, given: string): Promise<boolean> {
  const phc = parsePhc(account.password_hash);
  if (phc === undefined) return false;
  const { memoryKib: memory, passes, lanes: parallelism, salt: nonce, tag } = phc;
  const options = { message: given, nonce, memory, passes, parallelism, tagLength: tag.length };
  return timingSafeEqual(await derive("argon2id", options), tag);
}

interface Credentials {
  email: string;
  password: string;
  subdomain: string;
}

app.post<{ Body: Credentials }>("/login", { schema: loginSchema }, async ({ body }) => {
  const [account] = await query<Account>("account", [body.subdomain, body.email]);
  if (account === undefined || !(await isRight(account, body.password))) throw new Refused();
  const { id, tenant_id, role, user_epoch, tenant_epoch } = account;
  const sid = randomUUID();
  await query("open", [sid, tenant_id, id, user_epoch, tenant_epoch, tokenSeconds]);
  const claims = { tid: tenant_id, role, sid };
  const access_token = jwt.sign(claims, key, {
    algorithm: "HS256",
    subject: String(id),
    expiresIn: tokenSeconds,
  });
  return { access_token, token_type: "bearer", tenant_id, role, demo_mode: false };
});

process.on("SIGTERM", () => {
  void app
    .close()
    .then(() => pool.end())
    .then(() => process.exit(0));
});
process.stdout.write(`bare ${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);
