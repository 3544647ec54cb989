import { tenantRoleOf } from '../../domain/access/permission.ts';
import type { Dataset } from '../../domain/benchmarks/benchmark.ts';
import { MAX_DATASET_BYTES, parseDataset } from '../../domain/benchmarks/dataset.ts';
import { isId25 } from '../../domain/id.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { type ReadableBlob, readAll } from '../blobs.ts';
import type { Ctx } from '../context.ts';
import type { FailedEgress } from '../egress-failure.ts';

/** `failed`: why the host did not return it. */
export type FetchedDataset =
  | { readonly bytes: Uint8Array; readonly failed: null }
  | { readonly bytes: null; readonly failed: FailedEgress };

export type DatasetHost = {
  /** At most MAX_DATASET_BYTES. A failure is in the result, and not thrown. */
  readonly fetch: (url: string) => Promise<FetchedDataset>;
};

export type DatasetPorts<C extends Ctx> = {
  /** `digest`: of a file of the context's tenant. @throws Refusal not_found, forbidden */
  readonly assertReadable: (ctx: C, digest: string) => Promise<unknown>;
};

const POINTER = '/dataset_uri';

/** `pointer`: the request field that refers to the dataset. @throws Refusal invalid if it is larger than a dataset may be */
export const readDataset = async ({ size, content }: ReadableBlob, pointer: string): Promise<Uint8Array> => {
  if (size > MAX_DATASET_BYTES) throw invalid(pointer, `The dataset has more than ${MAX_DATASET_BYTES} bytes`, 'too_large');
  return readAll(content);
};

/** Returns tenant and digest from the URL of an uploaded file of this installation; null for any other URL. */
const uploadedFileIn = (publicUrl: string, uri: string): { readonly tenant: string; readonly digest: string } | null => {
  const path = uri.startsWith(`${publicUrl}/`) ? uri.slice(publicUrl.length) : uri;
  const [, tenant, digest] = /^\/tenant\/([^/]+)\/files\/([0-9a-f]{64})$/.exec(path) ?? [];
  return tenant && digest && isId25(tenant) ? { tenant, digest } : null;
};

const unknownFile = (): Refusal => invalid(POINTER, 'There is no such file, or you have no access to it', 'unknown_file');

/**
 * Copies to the platform's file store, so that every tenant can run the benchmark, even after the original is removed. The caller must be
 * a member of the file's tenant who may read it.
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
 * Reads and copies an uploaded file now. Any other URI is read only when a run starts; if this fails, the run is refused.
 * @throws Refusal invalid, unavailable
 */
export const locateDataset = async <C extends Ctx>(ctx: C, ports: DatasetPorts<C>, dataset_uri: string): Promise<Dataset> => {
  const file = uploadedFileIn(ctx.publicUrl, dataset_uri);
  if (file) return { dataset_uri, dataset_sha256: await ctx.sideEffect(() => copyUpload(ctx, ports, file)) };
  return { dataset_uri, dataset_sha256: null };
};
