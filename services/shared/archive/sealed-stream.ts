// The format of an archive in the store and between processes. It is encrypted in chunks, so it can be read and written with
// constant memory, and no byte is returned before it is authenticated. The construction is STREAM (Hoang, Reyhanitabar, Rogaway,
// Vizár 2015): each chunk is AES-256-GCM with a nonce that counts the chunks and marks the last one. So a chunk that was changed,
// moved, repeated or dropped, or a truncated end, fails to decrypt. Each archive has its own key, so a counted nonce never
// repeats. The head with the archive's name is authenticated with every chunk.
//   head:  "RECA" | version 1 | 3 bytes zero | chunk size, 4 bytes | name, 32 bytes (SHA-256 of the archive's name)
//   chunk: ciphertext of chunk-size bytes (the last one: fewer, perhaps none) | 16 bytes tag
import { createCipheriv, createDecipheriv, createHash, type KeyObject } from "node:crypto";
import { Transform, type TransformCallback } from "node:stream";

const magic = Buffer.from("RECA\x01\0\0\0", "latin1");
const headBytes = 44;
const tagBytes = 16;
const chunkBytes = 256 * 1024;
const algorithm = "aes-256-gcm";

/** The bytes are not an archive, not the requested one, or were changed. The message may be shown to the client. */
export class ArchiveDamaged extends Error {
  override readonly name = "ArchiveDamaged";
}

const headOf = (name: string): Buffer => {
  const head = Buffer.alloc(headBytes);
  magic.copy(head);
  head.writeUInt32BE(chunkBytes, 8);
  createHash("sha256").update(name).digest().copy(head, 12);
  return head;
};

function nonceOf(chunk: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(chunk, 5, 6);
  nonce[11] = last ? 1 : 0;
  return nonce;
}

/** Cuts a stream into pieces of one size without copying. The last piece may be smaller, and comes when the stream has ended. */
class Pieces {
  readonly #size: number;
  #held: Buffer[] = [];
  #bytes = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /**
   * @returns pieces that are certainly not the last, each as a list of buffers: a complete piece is kept until more bytes come
   */
  *add(bytes: Buffer): Iterable<readonly Buffer[]> {
    let rest = bytes;
    while (this.#bytes + rest.length > this.#size) {
      const wanted = this.#size - this.#bytes;
      const piece = wanted === 0 ? this.#held : [...this.#held, rest.subarray(0, wanted)];
      rest = rest.subarray(wanted);
      this.#held = [];
      this.#bytes = 0;
      yield piece;
    }
    if (rest.length === 0) return;
    this.#held.push(rest);
    this.#bytes += rest.length;
  }

  last(): readonly Buffer[] {
    return this.#held;
  }
}

/** Encrypts: plain bytes in, an archive out. @param name must be the same when the archive is decrypted */
export function sealing(key: KeyObject, name: string): Transform {
  const head = headOf(name);
  const pieces = new Pieces(chunkBytes);
  let chunk = 0;
  const seal = (stream: Transform, plain: readonly Buffer[], last: boolean): void => {
    const cipher = createCipheriv(algorithm, key, nonceOf(chunk++, last), { authTagLength: tagBytes });
    cipher.setAAD(head);
    for (const part of plain) stream.push(cipher.update(part));
    cipher.final();
    stream.push(cipher.getAuthTag());
  };
  return new Transform({
    construct(done) {
      this.push(head);
      done();
    },
    transform(bytes: Buffer, _encoding, done) {
      for (const piece of pieces.add(bytes)) seal(this, piece, false);
      done();
    },
    flush(done) {
      seal(this, pieces.last(), true);
      done();
    },
  });
}

/** The tag at the end of a sealed chunk may be split over two buffers. */
function splitTag(sealed: readonly Buffer[]): { body: Buffer[]; tag: Buffer } {
  const body = [...sealed];
  let tag = Buffer.alloc(0);
  while (tag.length < tagBytes) {
    const part = body.pop();
    if (part === undefined) throw new ArchiveDamaged("The archive ends too early.");
    const from = Math.max(0, part.length - (tagBytes - tag.length));
    tag = Buffer.concat([part.subarray(from), tag]);
    if (from > 0) body.push(part.subarray(0, from));
  }
  return { body, tag };
}

/** Decrypts: an archive in, its plain bytes out, each chunk only after it is authenticated. Fails with ArchiveDamaged. */
export function opening(key: KeyObject, name: string): Transform {
  const head = headOf(name);
  const pieces = new Pieces(chunkBytes + tagBytes);
  let seen = Buffer.alloc(0);
  let headSeen = false;
  let chunk = 0;
  /** No byte of a chunk is returned before its tag is verified. */
  const open = (stream: Transform, sealed: readonly Buffer[], last: boolean): void => {
    const { body, tag } = splitTag(sealed);
    const decipher = createDecipheriv(algorithm, key, nonceOf(chunk++, last), { authTagLength: tagBytes });
    decipher.setAAD(head);
    decipher.setAuthTag(tag);
    const plain = body.map((part) => decipher.update(part));
    try {
      decipher.final();
    } catch {
      throw new ArchiveDamaged("The archive was changed, or is not the one it should be.");
    }
    for (const part of plain) stream.push(part);
  };
  const guarded = (done: TransformCallback, work: () => void): void => {
    try {
      work();
    } catch (error) {
      done(error instanceof Error ? error : new Error("the archive could not be opened"));
      return;
    }
    done();
  };
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      guarded(done, () => {
        let rest = bytes;
        if (!headSeen) {
          seen = Buffer.concat([seen, bytes]);
          if (seen.length < headBytes) return;
          if (!seen.subarray(0, headBytes).equals(head))
            throw new ArchiveDamaged("The archive was changed, or is not the one it should be.");
          headSeen = true;
          rest = seen.subarray(headBytes);
        }
        for (const piece of pieces.add(rest)) open(this, piece, false);
      });
    },
    flush(done) {
      guarded(done, () => {
        if (!headSeen) throw new ArchiveDamaged("The archive ends too early.");
        open(this, pieces.last(), true);
      });
    },
  });
}
