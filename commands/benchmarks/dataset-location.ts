import { tenantRoleOf } from '../../domain/access/permission.ts';
import type { Dataset } from '../../domain/benchmarks/benchmark.ts';
import { MAX_DATASET_BYTES, parseDataset } from '../../domain/benchmarks/dataset.ts';
import { isId25 } from '../../domain/id.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { type ReadableBlob, readAll } from '../blobs.ts';
import type { Ctx } from '../context.ts';
import type { FailedEgress } from '../egress-failure.ts';

/** The content of a dataset or, if the host did not return it, the reason (`failed`). */
export type FetchedDataset =
  | { readonly bytes: Uint8Array; readonly failed: null }
  | { readonly bytes: null; readonly failed: FailedEgress };

export type DatasetHost = {
  /**
   * Reads a dataset of at most MAX_DATASET_BYTES. If the host does not return it, `failed` in the result contains the
   * reason, and nothing is thrown.
   */
  readonly fetch: (url: string) => Promise<FetchedDataset>;
};

export type DatasetPorts<C extends Ctx> = {
  /** Checks that the caller may read a file of the context's tenant. @throws Refusal not_found, forbidden */
  readonly assertReadable: (ctx: C, digest: string) => Promise<unknown>;
};

const POINTER = '/dataset_uri';

/**
 * Reads a stored dataset. `pointer` is the JSON pointer of the request field that refers to the dataset.
 * @throws Refusal invalid if it is larger than a dataset may be
 */
export const readDataset = async ({ size, content }: ReadableBlob, pointer: string): Promise<Uint8Array> => {
  if (size > MAX_DATASET_BYTES) throw invalid(pointer, `The dataset has more than ${MAX_DATASET_BYTES} bytes`, 'too_large');
  return readAll(content);
};

/** Returns the tenant and the digest in the URL of an uploaded file of this installation; null for any other URL. */
const uploadedFileIn = (publicUrl: string, uri: string): { readonly tenant: string; readonly digest: string } | null => {
  const path = uri.startsWith(`${publicUrl}/`) ? uri.slice(publicUrl.length) : uri;
  const [, tenant, digest] = /^\/tenant\/([^/]+)\/files\/([0-9a-f]{64})$/.exec(path) ?? [];
  return tenant && digest && isId25(tenant) ? { tenant, digest } : null;
};

const unknownFile = (): Refusal => invalid(POINTER, 'There is no such file, or you have no access to it', 'unknown_file');

/**
 * Copies an uploaded file to the file store of the platform, so that every tenant can run the benchmark, even after the
 * original file is removed. The caller must be a member of the tenant that has the file, and must be allowed to read
 * it.
 */
const copyUpload = async <C extends Ctx>(
  ctx: C,
  { assertReadable }: DatasetPorts<C>,
  { tenant, digest }: { readonly tenant: string; readonly digest: string },
): Promise<string> => {
  const inside = ctx.inTenant(tenant) as C;
  const { state } = await inside.load(Tenant, tenant);
  if (!tenantRoleOf(state, ctx.principal)) throw unknownFile();
  await assertReadable(inside, digest).catch((error: unknown) => {
    throw error instanceof Refusal && (error.code === 'not_found' || error.code === 'forbidden') ? unknownFile() : error;
  });
  const blob = await inside.blobs.get(digest);
  if (!blob) throw unknownFile();
  const bytes = await readDataset(blob, POINTER);
  parseDataset(bytes, POINTER);
  return (await ctx.blobs.put(bytes)).sha256;
};

/**
 * Finds a dataset for a benchmark. An uploaded file is read and copied now. Any other URI is read only when a run
 * starts; if it cannot be read then, the run is refused.
 * @throws Refusal invalid, unavailable
 */
export const locateDataset = async <C extends Ctx>(ctx: C, ports: DatasetPorts<C>, dataset_uri: string): Promise<Dataset> => {
  const file = uploadedFileIn(ctx.publicUrl, dataset_uri);
  if (file) return { dataset_uri, dataset_sha256: await ctx.sideEffect(() => copyUpload(ctx, ports, file)) };
  return { dataset_uri, dataset_sha256: null };
};
