import type { PictureEvent } from '../../domain/files/picture.ts';
import type { AuditOf } from '../audit-record.ts';

export const pictureAudit = {
  BrandFaviconChanged: { summary: 'changed the favicon of the tenant', activity: 'update' },
  BrandLogoChanged: { summary: 'changed the logo of the tenant', activity: 'update' },
  PlatformFaviconChanged: { summary: 'changed the favicon of the platform', activity: 'update' },
  UseCaseIconChanged: { summary: 'changed the icon of the use case {key}', activity: 'update' },
} satisfies AuditOf<PictureEvent>;
