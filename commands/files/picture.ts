import { PLATFORM } from '../../domain/event.ts';
import { Slug } from '../../domain/fields.ts';
import * as Picture from '../../domain/files/picture.ts';
import { notFound, Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { ReadableBlob } from '../blobs.ts';
import type { Ctx, Loaded } from '../context.ts';
import { shownFilename } from './filename.ts';

export const MAX_PICTURE_BYTES = 1024 * 1024;

/** A picture that was decoded and encoded again: pixels only, no metadata, scripts or other files. */
export type EncodedPicture = {
  readonly bytes: Uint8Array;
  readonly content_type: string;
  readonly width: number;
  readonly height: number;
};

/**
 * Detects the type from the content.
 * @throws Refusal unsupported_media_type if it is not a PNG, JPEG, WebP, GIF or ICO; invalid if damaged or too large
 */
export type EncodePicture = (bytes: Uint8Array) => Promise<EncodedPicture>;

/** The type of the event that records a change, and the unique key of the stream in its tenant. */
const KINDS = {
  brandFavicon: { event: 'BrandFaviconChanged', key: () => 'brand favicon' },
  brandLogo: { event: 'BrandLogoChanged', key: () => 'brand logo' },
  platformFavicon: { event: 'PlatformFaviconChanged', key: () => 'platform favicon' },
  useCaseIcon: { event: 'UseCaseIconChanged', key: (name: string | null) => `use case ${name}` },
} as const satisfies Record<string, { event: Picture.PictureEventType; key: (name: string | null) => string }>;
export type PictureKind = keyof typeof KINDS;

/** `name` is the key of the use case; null for other kinds. */
export type PictureRef = { readonly kind: PictureKind; readonly name: string | null };

const idOf = (ctx: Ctx, { kind, name }: PictureRef): string => ctx.secrets.uniqueId('picture', KINDS[kind].key(name));

/** Does not check that the use case exists. @throws Refusal not_found if the text does not have the form of a `Slug` */
export const assertUseCase = (key: string): void => {
  if (!Slug.safeParse(key).success) throw new Refusal('not_found', 'The key of a use case has 1 to 64 characters of a-z, 0-9 and -');
};

type NewPicture = { readonly bytes: Uint8Array; readonly filename: string };

const urlOf = async (ctx: Ctx, { kind, name }: PictureRef): Promise<string> => {
  if (kind === 'platformFavicon') return `${ctx.publicUrl}/platform/favicon`;
  if (kind === 'useCaseIcon') return `${ctx.publicUrl}/use-cases/${name}/icon`;
  const { slug } = (await ctx.load(Tenant, ctx.tenant)).state;
  return `${ctx.publicUrl}/brand/${slug}/${kind === 'brandFavicon' ? 'favicon' : 'logo'}`;
};

/** `ctx` is that of the tenant or the platform. @throws Refusal unsupported_media_type, invalid, unavailable */
export const changePicture = async (
  ctx: Ctx,
  ref: PictureRef,
  { bytes, filename }: NewPicture,
  encode: EncodePicture,
): Promise<Loaded<object>> => {
  const stored = await ctx.sideEffect(async () => {
    const { bytes: encoded, ...picture } = await encode(bytes);
    return { ...picture, ...(await ctx.blobs.put(encoded)) };
  });
  const { size: size_bytes, ...picture } = stored;
  const file = { upload_id: ctx.newId(), filename: shownFilename(filename), size_bytes, ...picture };
  const loaded = await ctx.transact(Picture, idOf(ctx, ref), Picture.change(KINDS[ref.kind].event, file, ref.name));
  const { upload_id: id, ...state } = loaded.state.file!;
  return { ...loaded, state: { ...state, id, url: await urlOf(ctx, ref) } };
};

/** @throws Refusal not_found */
const tenantWithSlug = async (ctx: Ctx, slug: string): Promise<string> => {
  if (!Slug.safeParse(slug).success) throw notFound();
  for (let generation = 0; ; generation++) {
    const id = ctx.secrets.uniqueId('tenant', slug, generation);
    const { state } = await ctx.load(Tenant, id);
    if (state.status === 'absent') throw notFound();
    if (!Tenant.isClosed(state)) return id;
  }
};

export type ShownPicture = { readonly sha256: string; readonly content_type: string; readonly open: () => Promise<ReadableBlob | null> };

/** `ctx` must be the platform's. `slug`: of the tenant; null for the platform itself. @throws Refusal not_found */
export const findPicture = async (ctx: Ctx, ref: PictureRef, slug: string | null): Promise<ShownPicture> => {
  const of = slug === null ? ctx : ctx.inTenant(await tenantWithSlug(ctx, slug));
  const { file } = (await of.load(Picture, idOf(of, ref))).state;
  if (!file) throw notFound();
  return { sha256: file.sha256, content_type: file.content_type, open: () => of.blobs.get(file.sha256) };
};

/** Finds a brand picture of the tenant by its digest. Everyone who may read the tenant may read these pictures. */
export const brandPictureWithDigest = async (ctx: Ctx, sha256: string) => {
  if (ctx.tenant === PLATFORM) return null;
  for (const kind of ['brandFavicon', 'brandLogo'] as const) {
    const { file } = (await ctx.load(Picture, idOf(ctx, { kind, name: null }))).state;
    if (file?.sha256 === sha256) return { filename: file.filename, content_type: file.content_type };
  }
  return null;
};
