import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ObjectStoreError } from './object-store-error.ts';
import { errorOf, isTransient, parseXml, type S3Client, type S3Request, textOf } from './s3-client.ts';

const MIB = 1_024 * 1_024;
/** Files that are larger than this are sent in parts of this size (bytes). */
export const PART_BYTES = 8 * MIB;
const MAX_PARTS = 10_000;
const PARALLEL_PARTS = 2;
const COMPLETE_ATTEMPTS = 3;
const COMPLETE_RETRY_MS = 300;

/** The status of a conditional write if an object with this name already exists. */
const EXISTS = 412;
/** The status from stores that do not support conditional writes. */
const NOT_IMPLEMENTED = 501;

type Upload = { readonly client: S3Client; readonly path: string; readonly file: FileHandle; readonly size: number };

const readPart = async ({ file, size }: Upload, at: number, length: number): Promise<Buffer> => {
  const bytes = Buffer.allocUnsafe(Math.min(length, size - at));
  for (let done = 0; done < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, at + done);
    if (bytesRead === 0) throw new Error('a draft was cut off while it was sent');
    done += bytesRead;
  }
  return bytes;
};

/** Writes only a new object, so that none is replaced while it is read; unconditionally if the store cannot do that. */
const writeNew = async (client: S3Client, request: S3Request, isNew: boolean): Promise<{ status: number; body: Buffer }> => {
  if (!isNew) return client.send(request);
  const conditional = { ...request, headers: { ...request.headers, 'if-none-match': '*' }, accept: [EXISTS, NOT_IMPLEMENTED] };
  const answer = await client.send(conditional);
  return answer.status === NOT_IMPLEMENTED ? client.send(request) : answer;
};

const sendParts = async (upload: Upload, uploadId: string): Promise<string[]> => {
  const { client, path, size } = upload;
  const partBytes = Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS / MIB) * MIB);
  const tags: string[] = Array.from({ length: Math.ceil(size / partBytes) });
  let next = 0;
  const sendNext = async (): Promise<void> => {
    while (next < tags.length) {
      const index = next++;
      const body = await readPart(upload, index * partBytes, partBytes);
      const { headers } = await client.send({ method: 'PUT', path, query: { partNumber: String(index + 1), uploadId }, body });
      tags[index] = headers.get('etag') ?? '';
    }
  };
  const stopOthers = (error: unknown): never => {
    next = tags.length;
    throw error;
  };
  const workers = await Promise.allSettled(Array.from({ length: PARALLEL_PARTS }, () => sendNext().catch(stopOthers)));
  for (const worker of workers) if (worker.status === 'rejected') throw worker.reason;
  return tags;
};

/** Frees the space of its parts. If this fails, `annals blobs gc` tries again. */
export const abortUpload = async (client: S3Client, path: string, uploadId: string): Promise<void> =>
  void (await client.send({ method: 'DELETE', path, query: { uploadId }, accept: [404] }));

const completion = (tags: readonly string[]): Buffer => {
  const parts = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag.replaceAll('"', '&quot;')}</ETag></Part>`);
  return Buffer.from(
    `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`,
  );
};

/** S3 can answer 200 although this failed, because it sends the status first. If the object exists by now, the upload is aborted. */
const complete = async ({ client, path }: Upload, uploadId: string, tags: readonly string[], isNew: boolean): Promise<void> => {
  const request = { method: 'POST', path, query: { uploadId }, body: completion(tags) } as const;
  for (let count = 1; ; count++)
    try {
      const { status, body } = await writeNew(client, request, isNew);
      if (status === EXISTS) return await abortUpload(client, path, uploadId);
      const text = body.toString();
      if (parseXml(text).localName === 'CompleteMultipartUploadResult') return;
      throw errorOf(500, text);
    } catch (error) {
      if (!isTransient(error) || count === COMPLETE_ATTEMPTS) throw error;
      await sleep(COMPLETE_RETRY_MS * count);
    }
};

/** Checked after a failed write, which may have succeeded if only its response was lost. */
const isStored = async ({ client, path, size }: Upload): Promise<boolean> => {
  const { status, headers } = await client.send({ method: 'HEAD', path, accept: [404] });
  return status === 200 && Number(headers.get('content-length')) === size;
};

const sendMultipart = async (upload: Upload, isNew: boolean): Promise<void> => {
  const { client, path } = upload;
  const created = await client.send({ method: 'POST', path, query: { uploads: '' } });
  const uploadId = textOf(parseXml(created.body.toString()), 'UploadId');
  try {
    await complete(upload, uploadId, await sendParts(upload, uploadId), isNew);
  } catch (error) {
    const wasCompleted = error instanceof ObjectStoreError && error.code === 'NoSuchUpload' && (await isStored(upload));
    if (wasCompleted) return;
    await abortUpload(client, path, uploadId).catch(() => {});
    throw error;
  }
};

/** `isNew`: whether the caller has seen no object at this path. @throws ObjectStoreError */
export const uploadFile = async (client: S3Client, path: string, draft: string, isNew: boolean): Promise<void> => {
  await using file = await open(draft, 'r');
  const { size } = await file.stat();
  const upload = { client, path, file, size };
  // Await the upload here, so that the file stays open until all parts are sent.
  if (size > PART_BYTES) return await sendMultipart(upload, isNew);
  const body = await readPart(upload, 0, size);
  await writeNew(client, { method: 'PUT', path, headers: { 'content-type': 'application/octet-stream' }, body }, isNew);
};
