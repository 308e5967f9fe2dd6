// What the sections of the backups' part share: the service with both cores on a database of its own, a tenant whose rows
// are backed up and restored, and callers who may.
import type pg from "pg";
import type { Clinic } from "./clinic.ts";
import { servicePaths } from "./home.ts";
import { addLargeClinic, BackupCaller } from "./backup-scene.ts";
import { missing } from "./dump-tools.ts";
import { say } from "./report.ts";
import type { Scene, Stage } from "./stage.ts";
import { tokensOf } from "./tenant-clients.ts";
import { demoPassword } from "../support/service.ts";

export interface BackupStage {
  stage: Stage;
  scene: Scene;
  smallMb: number;
  largeMb: number;
  small: Tenant;
  superadmin: BackupCaller;
  /** Adds the large tenant beside the small one. */
  grow(): Promise<Tenant>;
}

export interface Tenant {
  clinic: Clinic;
  tokens: readonly string[];
  caller: BackupCaller;
}

export async function openBackups(stage: Stage): Promise<BackupStage> {
  const smallMb = stage.pick(100, 30, 1);
  const largeMb = Number(process.env["BENCH_BACKUPS_MB"] ?? stage.pick(600, 200, 3));
  const made = await stage.scene("backups");
  await made.service.stop();
  // Nothing else is loaded meanwhile: as on a machine of two cores, not as beside a load on one of them.
  stage.cores.giveBothCores(stage.postgresIds());
  const service = await stage.startService(made.settings, "backups-both.log", true);
  const scene: Scene = { ...made, service, url: `http://127.0.0.1:${service.captured}` };
  const tenant = async (subdomain: string, megabytes: number): Promise<Tenant> => {
    const clinic = await addLargeClinic(scene, subdomain, megabytes);
    const tokens = await tokensOf(stage, scene.url, servicePaths.login, subdomain);
    return { clinic, tokens, caller: new BackupCaller(scene, tokens[0] ?? "") };
  };
  const small = await tenant("small", smallMb);
  const superadmin = new BackupCaller(scene, await superadminAt(scene.url));
  return { stage, scene, smallMb, largeMb, small, superadmin, grow: () => tenant("large", largeMb) };
}

async function superadminAt(url: string): Promise<string> {
  const body = { subdomain: "platform", email: "admin@platform.example", password: demoPassword };
  const answer = await fetch(`${url}${servicePaths.login}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  return token;
}

/** The tools that can be used here, and their files. */
export class Tools {
  readonly url: string;
  readonly major: number;
  readonly #scene: BackupStage;

  constructor(scene: BackupStage, major: number) {
    this.#scene = scene;
    this.url = scene.scene.ownerUrl;
    this.major = major;
  }

  /** Says what is missing, and whether the comparison is left out therefore. */
  lack(tools: readonly string[]): boolean {
    const lacking = missing(tools, this.major);
    if (lacking.length > 0) say(`Left out, as ${lacking.join(" and ")} is missing.`);
    return lacking.length > 0;
  }

  file(name: string): string {
    return this.#scene.stage.path(name);
  }
}

export async function emptyDatabase(owner: pg.Client, ownerUrl: string, name: string): Promise<string> {
  await owner.query(`drop database if exists ${name}`);
  await owner.query(`create database ${name}`);
  const url = new URL(ownerUrl);
  url.pathname = `/${name}`;
  return url.href;
}
