// What is done with the bytes of archives, each as one piece of work from the database to the store or back: so that all of
// them can pass elsewhere than where requests are answered. What comes in and goes out of it is small and plain.
import type { KeyObject } from "node:crypto";
import type { OpenArchive } from "../archive/open-manifest.ts";
import type { Written } from "../archive/write-archive.ts";
import type { PlannedTable } from "../read-plan.ts";
import type { BackupType } from "../table-decisions.ts";

export interface Taken {
  backupId: string;
  type: BackupType;
  tenantId: number | null;
  /** Fingerprint of the installation. */
  installation: string;
  key: KeyObject;
}

/** Where an archive is laid out. */
export interface Place {
  /** The job that the rows stand under. */
  job: string;
  tenantId: number | null;
  /** Statements that bring rows of an earlier version up to date, $1 being the job; in order. */
  steps?: readonly string[];
}

export interface Moved {
  /** Of the work, from 0 to 1. */
  share: number;
  step?: string;
  rows?: number;
  bytes?: number;
}

export type Tell = (moved: Moved) => void;

/** Rows that were laid out, by table. */
export type LaidOut = Readonly<Record<string, number>>;

/** All of it ends by the signal, with its reason, and fails with JobFailed, ArchiveDamaged, StoreError or PostgreSQL's errors. */
export interface Moving {
  /** One snapshot of the database into an object of the store. */
  write(taken: Taken, tell: Tell, signal: AbortSignal): Promise<Written>;
  /** Every byte of an archive, compared with its manifest. */
  check(archive: OpenArchive, tell: Tell, signal: AbortSignal): Promise<void>;
  /** The archive's rows in the schema staging, up to date; they stay, and only if every byte of it is as its manifest says. */
  layOut(archive: OpenArchive, place: Place, tell: Tell, signal: AbortSignal): Promise<LaidOut>;
  /** What a restore would change. Nothing stays. */
  plan(archive: OpenArchive, place: Place, tell: Tell, signal: AbortSignal): Promise<PlannedTable[]>;
  /** Laid out, read out again and compared byte for byte. Nothing stays. @returns the rows */
  prove(archive: OpenArchive, place: Place, tell: Tell, signal: AbortSignal): Promise<number>;
  close(): Promise<void>;
}
