// The connection to an S3 store. Every request is bounded and is tried at most three times. The retries of the minio client
// (which write to the console) and its uploads are not used.
import * as http from "node:http";
import * as https from "node:https";
import { Client } from "minio";
import { pause } from "../../services/shared/pause.ts";
import { asS3Error, S3Error } from "./s3-errors.ts";
import { type BoundedTransport, boundedTransport, type RequestBounds } from "./s3-transport.ts";
import { StoreError } from "./store.ts";

export interface S3Options {
  /** http(s)://host[:port], without a path */
  endpoint: string;
  bucket: string;
  region: string;
  accessKey: string;
  secretKey: string;
  /** Whether the bucket is part of the path, or of the host name. */
  pathStyle: boolean;
  /** PEM of the authorities that are trusted instead of the usual ones. */
  authority?: string | undefined;
  /** Put before all keys; without a trailing slash. */
  prefix?: string | undefined;
  retention?: { days: number; mode: RetentionMode } | undefined;
  bounds?: Partial<StoreBounds>;
}

export type RetentionMode = "governance" | "compliance";

export interface StoreBounds {
  connectMsMax: number;
  idleMsMax: number;
  answerMsMax: number;
  /** For one part of a large archive on a slow line. */
  partMsMax: number;
  /** For completing an upload: some stores copy all parts before they answer. */
  finishMsMax: number;
  triesMax: number;
  retryDelayMs: number;
}

const usualBounds: StoreBounds = {
  connectMsMax: 5_000,
  idleMsMax: 30_000,
  answerMsMax: 30_000,
  partMsMax: 900_000,
  finishMsMax: 900_000,
  triesMax: 3,
  retryDelayMs: 250,
};

type Asking = Partial<Omit<RequestBounds, "connectMsMax">>;

/** `listParts` is protected in the client's types. */
export class S3Client extends Client {
  partsOf(bucket: string, name: string, uploadId: string) {
    return this.listParts(bucket, name, uploadId);
  }
}

/** Sends requests with credentials, timeouts and retries, over one pool of connections. */
export class S3Connection {
  readonly bucket: string;
  readonly bounds: StoreBounds;
  readonly retention: S3Options["retention"];
  readonly #options: S3Options;
  readonly #secure: boolean;
  readonly #agent: http.Agent;

  constructor(options: S3Options) {
    this.bucket = options.bucket;
    this.bounds = { ...usualBounds, ...options.bounds };
    this.retention = options.retention;
    this.#options = options;
    this.#secure = options.endpoint.startsWith("https:");
    const kept = { keepAlive: true, maxFreeSockets: 4 };
    const trusted = options.authority === undefined ? {} : { ca: options.authority };
    this.#agent = this.#secure ? new https.Agent({ ...kept, ...trusted }) : new http.Agent(kept);
  }

  /** Whether requests carry the SHA-256 of the body: without TLS nothing else protects it on the way. */
  get hashesBodies(): boolean {
    return !this.#secure;
  }

  nameOf(key: string): string {
    return this.#options.prefix === undefined ? key : `${this.#options.prefix}/${key}`;
  }

  /** @returns undefined for a name outside of the prefix */
  keyOf(name: string): string | undefined {
    const beginning = this.nameOf("");
    return name.startsWith(beginning) ? name.slice(beginning.length) : undefined;
  }

  /**
   * @param work one request that may be repeated
   * @throws StoreError; the signal's reason unchanged
   */
  async ask<T>(work: (client: S3Client) => Promise<T>, asking: Asking = {}): Promise<T> {
    const { signal } = asking;
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted();
      const transport = boundedTransport(this.#secure, {
        signal,
        connectMsMax: this.bounds.connectMsMax,
        idleMsMax: asking.idleMsMax ?? this.bounds.idleMsMax,
        answerMsMax: asking.answerMsMax ?? this.bounds.answerMsMax,
        streamed: asking.streamed ?? false,
      });
      try {
        return await work(this.#clientOver(transport));
      } catch (error) {
        signal?.throwIfAborted();
        const failure = asS3Error(error, transport.status);
        const passing = failure instanceof S3Error ? failure.passing : failure.fault === "unavailable";
        if (!passing || attempt >= this.bounds.triesMax) throw failure;
        // A random factor from 1 to 2, so that many writers do not retry at the same moment.
        const ms = this.bounds.retryDelayMs * 4 ** (attempt - 1) * (1 + Math.random());
        await pause(ms, signal ?? new AbortController().signal);
      }
    }
  }

  /** As `ask`, for requests that write: a missing bucket is created first. */
  async askToWrite<T>(work: (client: S3Client) => Promise<T>, asking: Asking = {}): Promise<T> {
    try {
      return await this.ask(work, asking);
    } catch (error) {
      if (!(error instanceof S3Error) || error.code !== "NoSuchBucket") throw error;
    }
    await this.#makeBucket(asking.signal);
    return this.ask(work, asking);
  }

  /** Closes the idle connections. */
  close(): void {
    this.#agent.destroy();
  }

  async #makeBucket(signal: AbortSignal | undefined): Promise<void> {
    const { bucket, region } = this.#options;
    try {
      await this.ask(
        (client) => client.makeBucket(bucket, region, { ObjectLocking: this.retention !== undefined }),
        { signal },
      );
    } catch (error) {
      if (!(error instanceof S3Error)) throw error;
      // Another process was quicker.
      if (error.code === "BucketAlreadyOwnedByYou") return;
      if (error.fault !== "refused" && error.code !== "BucketAlreadyExists") throw error;
      throw new StoreError("refused", "The bucket does not exist, and these credentials may not make it.", {
        cause: error.cause,
      });
    }
  }

  #clientOver(transport: BoundedTransport): S3Client {
    const { hostname, port } = new URL(this.#options.endpoint);
    return new S3Client({
      endPoint: hostname.replace(/^\[|\]$/g, ""),
      ...(port === "" ? {} : { port: Number(port) }),
      useSSL: this.#secure,
      region: this.#options.region,
      accessKey: this.#options.accessKey,
      secretKey: this.#options.secretKey,
      pathStyle: this.#options.pathStyle,
      transport,
      transportAgent: this.#agent,
      retryOptions: { disableRetry: true },
    });
  }
}
