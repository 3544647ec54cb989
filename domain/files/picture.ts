import type { Recorded } from '../event.ts';

/** Visible to everyone: the favicon or logo of a tenant, the favicon of the platform, or the icon of a use case. */
export const category = 'picture';

/** The platform has decoded the upload and encoded it again. `filename` is for display only. */
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

/** Does nothing if neither content nor file name changes. `key` of the use case whose icon it is; otherwise null. */
export const change =
  (type: PictureEventType, file: PictureFile, key: string | null) =>
  ({ file: present }: Picture): PictureEvent[] => {
    if (present?.sha256 === file.sha256 && present.filename === file.filename) return [];
    return [(type === 'UseCaseIconChanged' ? { type, data: { ...file, key: key! } } : { type, data: file }) satisfies PictureEvent];
  };
