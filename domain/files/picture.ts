import type { Recorded } from '../event.ts';

/**
 * A picture that everybody may see: the favicon or logo of a tenant, the favicon of the platform or the icon of a use
 * case.
 */
export const category = 'picture';

/** A stored picture, as it is after it was decoded and encoded again. `filename` is only shown. */
export type PictureFile = {
  readonly upload_id: string;
  readonly filename: string;
  readonly content_type: string;
  readonly size_bytes: number;
  readonly sha256: string;
  readonly width: number;
  readonly height: number;
};

export type PictureEvent =
  | { type: 'BrandFaviconChanged'; data: PictureFile }
  | { type: 'BrandLogoChanged'; data: PictureFile }
  | { type: 'PlatformFaviconChanged'; data: PictureFile }
  | { type: 'UseCaseIconChanged'; data: PictureFile & { readonly key: string } };
export type PictureEventType = PictureEvent['type'];

export type Picture = { readonly file: (PictureFile & { readonly created_at: string }) | null };

export const initial: Picture = { file: null };

export const evolve = (_: Picture, { data, at }: Recorded<PictureEvent>): Picture => ({ file: { ...data, created_at: at } });

/** Sets a picture. The same content under the same name changes nothing. `key` is that of the use case. */
export const change =
  (type: PictureEventType, file: PictureFile, key: string | null) =>
  ({ file: present }: Picture): PictureEvent[] => {
    if (present?.sha256 === file.sha256 && present.filename === file.filename) return [];
    return [(type === 'UseCaseIconChanged' ? { type, data: { ...file, key: key! } } : { type, data: file }) satisfies PictureEvent];
  };
