// An archive as it is stored and as it travels between processes: encrypted in chunks, so that it can be read and written at
// flat memory and nothing is told before it is proved. The construction is STREAM (Hoang, Reyhanitabar, Rogaway, Vizár 2015):
// each chunk is AES-256-GCM under a nonce that counts the chunks and marks the last one, so that a chunk that was changed,
// moved, repeated or dropped, or an end that was cut off, does not open. The key belongs to one archive, so counting nonces
// never repeat. The head, with the archive's name, is bound to every chunk.
//   head:  "RECA" | version 1 | 3 bytes zero | chunk size, 4 bytes | name, 32 bytes (SHA-256 of the archive's name)
//   chunk: ciphertext of chunk-size bytes (the last one: fewer, perhaps none) | 16 bytes tag
import { createCipheriv, createDecipheriv, createHash, type KeyObject } from "node:crypto";
import { Transform, type TransformCallback } from "node:stream";

const magic = Buffer.from("RECA\x01\0\0\0", "latin1");
const headBytes = 44;
const tagBytes = 16;
const chunkBytes = 256 * 1024;
const algorithm = "aes-256-gcm";

/** What is no archive, or not the one it should be, or not as it was written. The message may be told. */
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

/** Cuts what comes into pieces of one size; the last one may be smaller, and comes when all has come. */
class Pieces {
  readonly #size: number;
  #held: Buffer[] = [];
  #bytes = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** @returns pieces that are surely not the last: a whole one is kept back */
  *add(bytes: Buffer): Iterable<Buffer> {
    this.#held.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes <= this.#size) return;
    let all = this.#held.length === 1 ? bytes : Buffer.concat(this.#held, this.#bytes);
    while (all.length > this.#size) {
      yield all.subarray(0, this.#size);
      all = all.subarray(this.#size);
    }
    this.#held = [all];
    this.#bytes = all.length;
  }

  last(): Buffer {
    return Buffer.concat(this.#held, this.#bytes);
  }
}

/** Plain bytes in, an archive out. @param name what it must be asked for by */
export function sealing(key: KeyObject, name: string): Transform {
  const head = headOf(name);
  const pieces = new Pieces(chunkBytes);
  let chunk = 0;
  const seal = (plain: Buffer, last: boolean): Buffer => {
    const cipher = createCipheriv(algorithm, key, nonceOf(chunk++, last), { authTagLength: tagBytes });
    cipher.setAAD(head);
    return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  };
  return new Transform({
    construct(done) {
      this.push(head);
      done();
    },
    transform(bytes: Buffer, _encoding, done) {
      for (const piece of pieces.add(bytes)) this.push(seal(piece, false));
      done();
    },
    flush(done) {
      this.push(seal(pieces.last(), true));
      done();
    },
  });
}

/** An archive in, its plain bytes out, each chunk only when it is proved. Fails with ArchiveDamaged. */
export function opening(key: KeyObject, name: string): Transform {
  const head = headOf(name);
  const pieces = new Pieces(chunkBytes + tagBytes);
  let seen = Buffer.alloc(0);
  let headSeen = false;
  let chunk = 0;
  const open = (sealed: Buffer, last: boolean): Buffer => {
    if (sealed.length < tagBytes) throw new ArchiveDamaged("The archive ends too early.");
    const decipher = createDecipheriv(algorithm, key, nonceOf(chunk++, last), { authTagLength: tagBytes });
    decipher.setAAD(head);
    decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
    const plain = decipher.update(sealed.subarray(0, sealed.length - tagBytes));
    try {
      decipher.final();
    } catch {
      throw new ArchiveDamaged("The archive was changed, or is not the one it should be.");
    }
    return plain;
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
        for (const piece of pieces.add(rest)) this.push(open(piece, false));
      });
    },
    flush(done) {
      guarded(done, () => {
        if (!headSeen) throw new ArchiveDamaged("The archive ends too early.");
        this.push(open(pieces.last(), true));
      });
    },
  });
}
