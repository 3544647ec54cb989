import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { counted } from '../../domain/counted.ts';
import { lengthPrefixed, type NamedKey } from '../vault/cipher.ts';
import type { BlobName } from './blob-backend.ts';

/**
 * The format of an encrypted ("sealed") blob: a header, followed by the content in chunks. Each chunk is encrypted with
 * AES-256-GCM and followed by its tag. All chunks except the last have the same size. The keys are derived from the
 * tenant's key and a random salt, so they are used for this blob only. The nonce of a chunk contains its number, and
 * whether it is the last one. So a chunk that is missing, repeated, in another place or from another blob cannot be
 * decrypted. The header is authenticated together with the tenant and the digest, so a sealed blob cannot be read under
 * another name.
 */
const MAGIC = Buffer.from('annblob\x01', 'latin1');
const KID_BYTES = 32;
const SALT_BYTES = 32;
const MAC_BYTES = 32;
const SIZE_AT = MAGIC.length + KID_BYTES;
const SALT_AT = SIZE_AT + 8;
const MAC_AT = SALT_AT + SALT_BYTES;
export const HEADER_BYTES = MAC_AT + MAC_BYTES;

const ALGORITHM = 'aes-256-gcm';
const TAG_BYTES = 16;
const OPTIONS = { authTagLength: TAG_BYTES } as const;

/** The number of unencrypted bytes in a chunk. */
export const CHUNK_BYTES = 256 * 1_024;
export const SEALED_CHUNK_BYTES = CHUNK_BYTES + TAG_BYTES;

/** Thrown if a stored blob is damaged, was changed, or was encrypted for another tenant or digest. */
export class BlobDamaged extends Error {
  constructor({ tenant, sha256 }: BlobName, reason: string) {
    super(`the content ${sha256} of tenant ${tenant} is damaged: ${reason}`);
    this.name = 'BlobDamaged';
  }
}

/** Returns the size of a content after encryption, in bytes. `size` is its size before encryption. */
export const sealedSizeOf = (size: number): number => HEADER_BYTES + size + TAG_BYTES * Math.max(1, Math.ceil(size / CHUNK_BYTES));

type BlobKeys = { readonly encryption: Uint8Array; readonly mac: Uint8Array };

const keysOf = (key: Uint8Array, salt: Uint8Array): BlobKeys => {
  const derived = Buffer.from(hkdfSync('sha256', key, salt, 'annals blob v1', 64));
  return { encryption: derived.subarray(0, 32), mac: derived.subarray(32) };
};

const macOf = ({ mac }: BlobKeys, header: Buffer, { tenant, sha256 }: BlobName): Buffer =>
  createHmac('sha256', mac).update(header.subarray(0, MAC_AT)).update(lengthPrefixed(tenant, sha256)).digest();

const nonceOf = (index: number, isLast: boolean): Buffer => {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(index, 7);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
};

type Chunk = { readonly bytes: Buffer; readonly isLast: boolean };

/** The same buffer is used for every chunk. */
async function* chunksOf(content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Chunk> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let filled = 0;
  for await (const piece of content)
    for (let at = 0; at < piece.length; ) {
      if (filled === CHUNK_BYTES) yield { bytes: chunk, isLast: false };
      if (filled === CHUNK_BYTES) filled = 0;
      const part = piece.subarray(at, at + CHUNK_BYTES - filled);
      chunk.set(part, filled);
      filled += part.length;
      at += part.length;
    }
  yield { bytes: chunk.subarray(0, filled), isLast: true };
}

/** The header is known only at the end, because it depends on the digest of the content. */
export type Sealed = { readonly header: Buffer; readonly sha256: string; readonly size: number };

/** Passes the encrypted chunks to `write`, in order, with their offsets. The caller must write the header at offset 0. */
export const sealBlob = async (
  { kid, key }: NamedKey,
  tenant: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  write: (sealed: Buffer[], at: number) => Promise<void>,
): Promise<Sealed> => {
  const salt = randomBytes(SALT_BYTES);
  const keys = keysOf(key, salt);
  const hash = createHash('sha256');
  let [size, index] = [0, 0];
  for await (const { bytes, isLast } of chunksOf(content)) {
    hash.update(bytes);
    const cipher = createCipheriv(ALGORITHM, keys.encryption, nonceOf(index, isLast), OPTIONS);
    const sealed = [cipher.update(bytes), cipher.final(), cipher.getAuthTag()];
    await write(sealed, HEADER_BYTES + index * SEALED_CHUNK_BYTES);
    size += bytes.length;
    index += 1;
  }
  const sha256 = hash.digest('hex');
  const header = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(header);
  header.write(kid, MAGIC.length, KID_BYTES, 'latin1');
  header.writeBigUInt64BE(BigInt(size), SIZE_AT);
  salt.copy(header, SALT_AT);
  macOf(keys, header, { tenant, sha256 }).copy(header, MAC_AT);
  return { header, sha256, size };
};

/** @throws BlobDamaged if the bytes are not a header */
export const kidOfHeader = (name: BlobName, header: Buffer): string => {
  if (header.length < HEADER_BYTES) throw new BlobDamaged(name, 'it ends within its header');
  if (!header.subarray(0, MAGIC.length).equals(MAGIC)) throw new BlobDamaged(name, 'it has no header');
  return header.toString('latin1', MAGIC.length, SIZE_AT).replace(/\0+$/, '');
};

export type OpenedHeader = { readonly name: BlobName; readonly encryption: Uint8Array; readonly size: number };

/** @throws BlobDamaged unless the blob is sealed with this key and for this name, and has the size that the header states */
export const openHeader = (name: BlobName, key: Uint8Array, header: Buffer, sealedSize: number): OpenedHeader => {
  const keys = keysOf(key, header.subarray(SALT_AT, MAC_AT));
  if (!timingSafeEqual(macOf(keys, header, name), header.subarray(MAC_AT, HEADER_BYTES)))
    throw new BlobDamaged(name, 'its header was changed, or belongs to another content');
  const size = Number(header.readBigUInt64BE(SIZE_AT));
  if (sealedSizeOf(size) !== sealedSize)
    throw new BlobDamaged(name, `it has ${counted(sealedSize, 'byte')} instead of ${sealedSizeOf(size)}`);
  return { name, encryption: keys.encryption, size };
};

const openChunk = ({ name, encryption }: OpenedHeader, sealed: Buffer, index: number, isLast: boolean): Buffer => {
  if (sealed.length < TAG_BYTES) throw new BlobDamaged(name, `it ends within chunk ${index}`);
  const end = sealed.length - TAG_BYTES;
  const decipher = createDecipheriv(ALGORITHM, encryption, nonceOf(index, isLast), OPTIONS).setAuthTag(sealed.subarray(end));
  const plain = decipher.update(sealed.subarray(0, end));
  try {
    decipher.final();
  } catch {
    throw new BlobDamaged(name, `chunk ${index} was changed`);
  }
  return plain;
};

async function* sealedChunksOf(sealed: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const chunk = Buffer.allocUnsafe(SEALED_CHUNK_BYTES);
  let filled = 0;
  for await (const piece of sealed)
    for (let at = 0; at < piece.length; ) {
      const part = piece.subarray(at, at + SEALED_CHUNK_BYTES - filled);
      chunk.set(part, filled);
      filled += part.length;
      at += part.length;
      if (filled === SEALED_CHUNK_BYTES) yield chunk;
      if (filled === SEALED_CHUNK_BYTES) filled = 0;
    }
  if (filled > 0) yield chunk.subarray(0, filled);
}

/**
 * `sealed` yields the bytes after the header. The digest is checked at the end.
 * @throws BlobDamaged before a changed byte is yielded, and at the end if bytes are missing
 */
export async function* openBlob(opened: OpenedHeader, sealed: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const { name, size } = opened;
  const hash = createHash('sha256');
  const count = Math.max(1, Math.ceil(size / CHUNK_BYTES));
  let index = 0;
  for await (const chunk of sealedChunksOf(sealed)) {
    if (index === count) throw new BlobDamaged(name, 'bytes follow its last chunk');
    const plain = openChunk(opened, chunk, index, index === count - 1);
    hash.update(plain);
    index += 1;
    if (plain.length > 0) yield plain;
  }
  if (index !== count) throw new BlobDamaged(name, `it ends after ${index} of ${counted(count, 'chunk')}`);
  if (hash.digest('hex') !== name.sha256) throw new BlobDamaged(name, 'its bytes do not have this digest');
}
