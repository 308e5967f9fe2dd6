// A file for a client, passed on as it comes: fetched from the process that has it, opened chunk by chunk, each proved before
// it is told. Nothing is kept but what is on its way; a client that goes ends all of it.
import { createSecretKey } from "node:crypto";
import { get, type IncomingMessage, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Download } from "../shared/archive/download.ts";
import { opening } from "../shared/archive/sealed-stream.ts";
import { Unavailable } from "../shared/errors.ts";
import type { Runtime } from "../../host/process/runtime.ts";

const answerMsMax = 10_000;

/** @throws Unavailable while nothing has been sent; afterwards the connection is cut, which no client takes for the end */
export async function sendDownload(
  { log }: Runtime,
  requestId: string,
  response: ServerResponse,
  download: Download,
): Promise<void> {
  // Each part of the way to the client listens to its end; with those who do so already they are more than Node's usual ten.
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
