// A process of its own that writes and reads one large object, and says by how much its memory grew: test/unit/mixins/store/memory.test.ts.
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { FolderStore } from "../../../../mixins/store/folder-store.ts";
import { S3Store } from "../../../../mixins/store/s3-store.ts";

const [kind, place = "", megabytes = "0"] = process.argv.slice(2);
const store = kind === "folder" ? new FolderStore(place) : new S3Store(JSON.parse(place));
const chunk = randomBytes(1_000_000);
const never = new AbortController().signal;

async function move(key: string, chunks: number): Promise<number> {
  const source = function* () {
    for (let given = 0; given < chunks; given++) yield chunk;
  };
  await store.put(key, Readable.from(source(), { objectMode: false }), never);
  let bytes = 0;
  for await (const read of await store.get(key, never)) bytes += read.length;
  return bytes;
}

// Programs, connections and buffers of one part and a bit are there after this.
await move("warm/data", 40);
const before = process.resourceUsage().maxRSS;
const bytes = await move("large/data", Number(megabytes));
const grown = (process.resourceUsage().maxRSS - before) * 1024;
process.stdout.write(JSON.stringify({ bytes, grown }));
