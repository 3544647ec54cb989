import type { ReadableBlob } from '../../commands/blobs.ts';
import { LogError } from '../eventstore/event-log.ts';
import type { Vault } from '../vault/vault.ts';
import { type BlobBackend, type BlobName, BlobReplaced } from './blob-backend.ts';
import * as Sealed from './sealed-blob.ts';

const HEAD_BYTES = Sealed.HEADER_BYTES + Sealed.SEALED_CHUNK_BYTES;
/** The maximum number of times that a blob may be encrypted again while it is read. */
const MAX_REPLACEMENTS = 5;

async function* withoutFirst(count: number, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let toSkip = count;
  for await (const bytes of content) {
    if (bytes.length > toSkip) yield bytes.subarray(toSkip);
    toSkip = Math.max(0, toSkip - bytes.length);
  }
}

/** Creates the function that opens and decrypts blobs. @throws BlobDamaged, LogError, and the errors of the backend */
export const createBlobReader = ({ backend, vault }: { readonly backend: BlobBackend; readonly vault: Pick<Vault, 'blobKey'> }) => {
  const keyOf = async (name: BlobName, kid: string): Promise<Uint8Array> => {
    try {
      return (await vault.blobKey(name.tenant, kid)).key;
    } catch (error) {
      if (error instanceof LogError) throw error;
      throw new Sealed.BlobDamaged(name, 'its tenant has no key of the id in its header');
    }
  };

  const openOnce = async (name: BlobName): Promise<ReadableBlob | null> => {
    const sealed = await backend.read(name, HEAD_BYTES);
    if (!sealed) return null;
    const key = await keyOf(name, Sealed.kidOfHeader(name, sealed.head));
    const header = Sealed.openHeader(name, key, sealed.head, sealed.sealedSize);
    const content = async function* (): AsyncGenerator<Uint8Array> {
      yield sealed.head.subarray(Sealed.HEADER_BYTES);
      if (sealed.head.length < sealed.sealedSize) yield* sealed.rest();
    };
    return { size: header.size, content: Sealed.openBlob(header, content()) };
  };

  /** If the blob is encrypted again in the meantime, it is opened again, and reading continues at the same byte. */
  async function* contentOf(name: BlobName, first: ReadableBlob): AsyncGenerator<Uint8Array> {
    let [blob, sent] = [first, 0];
    for (let replacements = 0; ; ) {
      try {
        for await (const bytes of withoutFirst(sent, blob.content)) {
          yield bytes;
          sent += bytes.length;
        }
        return;
      } catch (error) {
        if (!(error instanceof BlobReplaced) || ++replacements > MAX_REPLACEMENTS) throw error;
        const again = await openOnce(name);
        if (!again) throw error;
        blob = again;
      }
    }
  }

  const opened = async (name: BlobName): Promise<ReadableBlob | null> => {
    const blob = await openOnce(name);
    return blob && { size: blob.size, content: contentOf(name, blob) };
  };

  const isIntact = async (name: BlobName): Promise<boolean> => {
    try {
      const blob = await opened(name);
      if (!blob) return false;
      for await (const _ of blob.content);
      return true;
    } catch (error) {
      if (error instanceof Sealed.BlobDamaged) return false;
      throw error;
    }
  };

  return { opened, isIntact };
};
