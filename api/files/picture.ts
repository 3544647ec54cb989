import type { Context } from 'hono';
import { z } from 'zod';
import {
  assertUseCase,
  changePicture,
  type EncodePicture,
  findPicture,
  MAX_PICTURE_BYTES,
  type PictureKind,
} from '../../commands/files/picture.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { notFound } from '../../domain/refusal.ts';
import { authorizeRequest, requestInfoOf } from '../http/authorize-request.ts';
import { matchesIfNoneMatch } from '../http/etag.ts';
import { assertNoQuery, runOnce } from '../http/mount.ts';
import { readForm } from '../http/multipart-body.ts';
import { type Operation, operation } from '../http/operation.ts';
import { plainRoute, plainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { abortOnError } from '../http/stream-response.ts';
import { UPLOAD_FIELD, type UploadDeps, uploadRoute } from '../http/upload-route.ts';

export type PictureDeps = UploadDeps & { readonly encodePicture: EncodePicture };
type Deps = PictureDeps & { readonly runtime: Runtime };

export const UploadRead = z
  .object({
    id: idOf('upload'),
    filename: z.string().meta({ description: 'The name that the client gave the file, without folders', examples: ['logo.png'] }),
    content_type: z.string().meta({ description: 'The type of the stored picture', examples: ['image/png'] }),
    size_bytes: z.int().meta({ description: 'The size of the stored picture', examples: [5_120] }),
    sha256: z.string().meta({ description: 'The SHA-256 of the stored picture, in hex', examples: ['9f86d081'.repeat(8)] }),
    url: z.string().meta({ description: 'Where everybody can read it', examples: ['https://annals.example.com/brand/acme/logo'] }),
    width: z.int().meta({ description: 'The width in pixels', examples: [64] }),
    height: z.int().meta({ description: 'The height in pixels', examples: [64] }),
    created_at: Timestamp,
  })
  .meta({ id: 'UploadRead' });

const RULES = `The picture is a PNG, JPEG, WebP, GIF or ICO file of at most ${MAX_PICTURE_BYTES} bytes and 4096 x 2048 pixels; SVG is refused. It is decoded and encoded again: metadata are lost, and GIF and ICO files become PNG files of one picture.`;

type PictureRoute = {
  readonly kind: PictureKind;
  readonly path: string;
  readonly publicPath: string;
  readonly operationId: string;
  readonly readId: string;
  readonly what: string;
  readonly permit: 'platform' | 'tenant:settings:write';
};

const rowOf = <const Path extends string>({ path, what, permit }: PictureRoute & { readonly path: Path }) =>
  operation({ method: 'put', path, summary: `Replace ${what}`, permit, reply: UploadRead, run: () => null });

const replacePicture =
  (route: PictureRoute, row: Operation) =>
  ({ runtime, encodePicture, parseForm, withSlot }: Deps) => {
    const authorize = authorizeRequest(row, runtime);
    return async (c: Context): Promise<Response> => {
      const request = await authorize(c);
      const { info, params } = request;
      assertNoQuery(c);
      if (params.key !== undefined) assertUseCase(params.key);
      return withSlot(info.tenant, async () => {
        const file = await readForm(parseForm, c.req.raw, { file: UPLOAD_FIELD, maxBytes: MAX_PICTURE_BYTES });
        const ref = { kind: route.kind, name: params.key ?? null };
        return runOnce(row, runtime, request, { bytes: file.bytes, run: (ctx) => changePicture(ctx, ref, file, encodePicture) });
      });
    };
  };

/** The number of seconds for which browsers and proxies may use a cached picture without asking the server. */
const MAX_AGE_SECONDS = 300;
const nobody = { kind: 'system', name: 'nobody' } as const;

const showPicture =
  ({ kind }: PictureRoute) =>
  ({ runtime }: Deps) =>
  async (c: Context): Promise<Response> => {
    assertNoQuery(c);
    const { tenant_slug = null, key = null } = c.req.param() as { tenant_slug?: string; key?: string };
    const ctx = runtime.context(requestInfoOf(c, runtime, nobody));
    const { sha256, content_type, open } = await findPicture(ctx, { kind, name: key }, tenant_slug);
    const etag = `"${sha256}"`;
    const caching = { etag, 'cache-control': `public, max-age=${MAX_AGE_SECONDS}` };
    if (matchesIfNoneMatch(c.req.header('if-none-match'), etag)) return c.body(null, 304, caching);
    const blob = await open();
    if (!blob) throw notFound();
    const headers = {
      ...caching,
      'content-type': content_type,
      'content-length': String(blob.size),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'cross-origin',
    };
    if (c.req.method === 'HEAD') return c.body(null, 200, headers);
    return c.body(ReadableStream.from(abortOnError(c, runtime, blob.content)), 200, headers);
  };

/** Creates the two routes of a kind of picture: one replaces it, and one shows it to everybody. */
const picturesOf = <const Route extends PictureRoute>(route: Route) => {
  const row = rowOf<Route['path']>(route);
  return [
    uploadRoute({
      row,
      operationId: route.operationId as Route['operationId'],
      description: `${RULES}\n\nRequires the permission \`${route.permit}\`.`,
      tag: 'Files',
      file: 'The picture',
      answer: 'The stored picture',
      handler: replacePicture(route, row),
    }),
    plainRoute({
      method: 'get',
      path: route.publicPath as Route['publicPath'],
      operationId: route.readId as Route['readId'],
      summary: `Read ${route.what}`,
      description: `Everybody may read it. Browsers may use it for ${MAX_AGE_SECONDS} seconds without asking again.`,
      tag: 'Files',
      security: [],
      responses: {
        200: {
          description: 'The picture',
          headers: { ETag: { description: 'The SHA-256 of the picture, for If-None-Match', schema: { type: 'string' } } },
          content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
        },
        304: { description: 'The picture matches the ETag in If-None-Match' },
      },
      problems: [404, 409, 422, 503],
      handler: showPicture(route),
    }),
  ] as const;
};

export const pictures = plainRoutes([
  ...picturesOf({
    kind: 'brandFavicon',
    path: '/tenant/:tenant_id/brand/favicon',
    publicPath: '/brand/:tenant_slug/favicon',
    operationId: 'changeBrandFavicon',
    readId: 'readBrandFavicon',
    what: 'the favicon of the tenant',
    permit: 'tenant:settings:write',
  }),
  ...picturesOf({
    kind: 'brandLogo',
    path: '/tenant/:tenant_id/brand/logo',
    publicPath: '/brand/:tenant_slug/logo',
    operationId: 'changeBrandLogo',
    readId: 'readBrandLogo',
    what: 'the logo of the tenant',
    permit: 'tenant:settings:write',
  }),
  ...picturesOf({
    kind: 'platformFavicon',
    path: '/admin/platform/favicon',
    publicPath: '/platform/favicon',
    operationId: 'changePlatformFavicon',
    readId: 'readPlatformFavicon',
    what: 'the favicon of the platform',
    permit: 'platform',
  }),
  ...picturesOf({
    kind: 'useCaseIcon',
    path: '/admin/use-cases/:key/icon',
    publicPath: '/use-cases/:key/icon',
    operationId: 'changeUseCaseIcon',
    readId: 'readUseCaseIcon',
    what: 'the icon of a use case',
    permit: 'platform',
  }),
]);
