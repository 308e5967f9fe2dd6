// Streams a file to a client: it is fetched from the process that has it and decrypted chunk by chunk. A chunk is sent only
// after its authentication. Nothing is buffered but the current chunks, and everything ends when the client disconnects.
import { createSecretKey } from "node:crypto";
import { get, type IncomingMessage, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Download } from "../shared/archive/download.ts";
import { opening } from "../shared/archive/sealed-stream.ts";
import { Unavailable } from "../shared/errors.ts";
import type { Runtime } from "../../host/process/runtime.ts";

const answerMsMax = 10_000;

/** @throws Unavailable before the first byte; later the connection is cut, which no client mistakes for the end of the file */
export async function sendDownload(
  { log }: Runtime,
  requestId: string,
  response: ServerResponse,
  download: Download,
): Promise<void> {
  // Each stage of the pipeline adds listeners, together more than Node's default maximum of ten.
  response.setMaxListeners(20);
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const source = await fetchFrom(download.address, gone.signal).catch((error: unknown) => {
    log.warn({ requestId, err: error }, "a download could not be fetched");
    throw new Unavailable("download_unavailable", "The file cannot be fetched at the moment", 10);
  });
  response.statusCode = 200;
  response.setHeader("Content-Type", "application/zstd");
  response.setHeader("Content-Length", download.bytes);
  response.setHeader("Content-Disposition", `attachment; filename="${download.file_name}"`);
  response.setHeader("Cache-Control", "no-store");
  const key = createSecretKey(Buffer.from(download.key, "base64"));
  try {
    await pipeline(source, opening(key, download.archive), response);
  } catch (error) {
    if (!gone.signal.aborted) log.warn({ requestId, err: error }, "a download broke off");
    response.destroy();
  } finally {
    source.destroy();
  }
}

function fetchFrom(address: string, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = get(address, { agent: false, signal, timeout: answerMsMax }, (answer) => {
      request.setTimeout(0);
      if (answer.statusCode === 200) resolve(answer);
      else {
        answer.destroy();
        reject(new Error(`the archive's process answered ${answer.statusCode}`));
      }
    });
    request.on("timeout", () => request.destroy(new Error("the archive's process does not answer")));
    request.on("error", reject);
  });
}
