import { randomBytes } from 'node:crypto';
import { type BlobBackend, type BlobDraft, type BlobName, BlobReplaced, type SealedBytes, type StoredEntry } from './blob-backend.ts';
import type { Bucket } from './blob-location.ts';
import { ObjectStoreError } from './object-store-error.ts';
import { createS3Client, parseXml, S3_TIMEOUTS, type S3Request, textOf } from './s3-client.ts';
import { abortUpload, uploadFile } from './s3-upload.ts';

/**
 * A blob stored less long ago is not uploaded again. An older one is, so that it is not removed as an orphan before an event refers to it.
 * The value is half of the shortest grace period of `annals blobs gc`.
 */
const MAX_REUSE_AGE_MS = 1_800_000;
const NAME = /^([a-z0-9]{1,64})\/([0-9a-f]{64})$/;

const elements = (body: Buffer, name: string) => {
  const root = parseXml(body.toString());
  return { root, found: Array.from(root.getElementsByTagName(name)) };
};

export const openBlobBucket = (bucket: Bucket, timeouts = S3_TIMEOUTS): BlobBackend => {
  const client = createS3Client(bucket, timeouts);
  const pathOf = ({ tenant, sha256 }: BlobName): string => `/${bucket.prefix}${tenant}/${sha256}`;

  const found = async (name: BlobName): Promise<Headers | null> => {
    const { status, headers } = await client.send({ method: 'HEAD', path: pathOf(name), accept: [404] });
    return status === 404 ? null : headers;
  };

  const store = async (name: BlobName, { path, sealedSize }: BlobDraft): Promise<void> => {
    const existing = await found(name);
    const isSame = existing !== null && Number(existing.get('content-length')) === sealedSize;
    const age = isSame ? Date.now() - Date.parse(existing.get('last-modified') ?? '') : Number.POSITIVE_INFINITY;
    if (age < MAX_REUSE_AGE_MS) return;
    await uploadFile(client, pathOf(name), path, existing === null);
  };

  const read = async (name: BlobName, headBytes: number): Promise<SealedBytes | null> => {
    const path = pathOf(name);
    const { status, headers, body } = await client.send({
      method: 'GET',
      path,
      headers: { range: `bytes=0-${headBytes - 1}` },
      accept: [404, 416],
    });
    if (status === 404) return null;
    if (status === 416) return { sealedSize: 0, head: Buffer.alloc(0), rest: async function* () {} };
    const sealedSize = status === 206 ? Number(/\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1]) : body.length;
    const head = body.subarray(0, headBytes);
    const rest = async function* (): AsyncGenerator<Uint8Array> {
      try {
        yield* client.bytesFrom(path, head.length, sealedSize, headers.get('etag') ?? '*');
      } catch (error) {
        throw error instanceof ObjectStoreError && error.status === 412 ? new BlobReplaced(name) : error;
      }
    };
    return { sealedSize, head, rest };
  };

  const replace = async (name: BlobName, { path }: BlobDraft): Promise<void> => {
    if (await found(name)) await uploadFile(client, pathOf(name), path, false);
  };

  /** Each pair in `next` is a query parameter for the next page, and the XML element with its value. */
  async function* pages(query: Record<string, string>, next: readonly (readonly [string, string])[]): AsyncGenerator<Buffer> {
    for (let more: Record<string, string> = {}; ; ) {
      const { body } = await client.send({ method: 'GET', path: '', query: { prefix: bucket.prefix, ...query, ...more } });
      yield body;
      const root = parseXml(body.toString());
      if (textOf(root, 'IsTruncated') !== 'true') return;
      more = Object.fromEntries(next.map(([parameter, element]) => [parameter, textOf(root, element)]));
    }
  }

  async function* list(tenant?: string): AsyncGenerator<StoredEntry> {
    const only: Record<string, string> = tenant === undefined ? {} : { prefix: `${bucket.prefix}${tenant}/` };
    for await (const body of pages({ 'list-type': '2', ...only }, [['continuation-token', 'NextContinuationToken']]))
      for (const object of elements(body, 'Contents').found) {
        const name = NAME.exec(textOf(object, 'Key').slice(bucket.prefix.length));
        if (name)
          yield {
            tenant: name[1]!,
            sha256: name[2]!,
            sealedSize: Number(textOf(object, 'Size')),
            storedAt: Date.parse(textOf(object, 'LastModified')),
            version: textOf(object, 'ETag'),
          };
      }
  }

  const remove = async (entry: StoredEntry): Promise<boolean> => {
    // Not every store supports conditional deletion, so compare the version before the blob is deleted.
    const headers = await found(entry);
    if (!headers || headers.get('etag') !== entry.version) return false;
    const { status } = await client.send({
      method: 'DELETE',
      path: pathOf(entry),
      headers: { 'if-match': entry.version },
      accept: [404, 412, 501],
    });
    if (status === 501) await client.send({ method: 'DELETE', path: pathOf(entry) });
    return status !== 412 && status !== 404;
  };

  /** Aborts the multipart uploads that were started before a time and never completed. */
  const removeDrafts = async (before: number, isDryRun: boolean): Promise<number> => {
    let count = 0;
    const next = [
      ['key-marker', 'NextKeyMarker'],
      ['upload-id-marker', 'NextUploadIdMarker'],
    ] as const;
    for await (const body of pages({ uploads: '' }, next))
      for (const upload of elements(body, 'Upload').found) {
        const key = textOf(upload, 'Key');
        if (!NAME.test(key.slice(bucket.prefix.length)) || Date.parse(textOf(upload, 'Initiated')) >= before) continue;
        if (!isDryRun) await abortUpload(client, `/${key}`, textOf(upload, 'UploadId'));
        count += 1;
      }
    return count;
  };

  const probe = async (): Promise<void> =>
    void (await client.send({ method: 'GET', path: '', query: { 'list-type': '2', 'max-keys': '1', prefix: bucket.prefix } }));

  const check = async (): Promise<string> => {
    await probe();
    const path = `/${bucket.prefix}probe-${randomBytes(8).toString('hex')}`;
    const body = Buffer.from('annals doctor');
    const send = (request: Omit<S3Request, 'path'>) => client.send({ ...request, path });
    await send({ method: 'PUT', body });
    const read = await send({ method: 'GET' });
    await send({ method: 'DELETE' });
    if (!read.body.equals(body)) throw new ObjectStoreError(0, 'MalformedAnswer', 'the object store returned other bytes than it was sent');
    return `the bucket ${bucket.bucket} can be written, read and listed`;
  };

  return {
    store,
    replace,
    read,
    sealedSizeOf: async (name) => {
      const headers = await found(name);
      return headers ? Number(headers.get('content-length')) : null;
    },
    list,
    remove,
    removeDrafts,
    probe,
    check,
  };
};
