import { auditExportPaths } from './audit/audit-export.ts';
import { tenantChangePaths } from './audit/tenant-changes.ts';
import { paymentWebhookPaths } from './billing/payment-webhook.ts';
import { oauthCallbackPaths } from './credentials/oauth-callback.ts';
import { picturePaths } from './files/picture.ts';
import { fileScanPaths } from './files/scan.ts';
import { filePaths } from './files/stored-file.ts';
import type { PlainPaths, PlainRowsOf } from './http/plain-route.ts';
import { directSignInPaths } from './identity/direct-sign-in.ts';
import { signInPaths } from './identity/sign-in.ts';
import { mailAttachmentPaths } from './mail/attachment.ts';
import { publishVersionPaths } from './marketplace/publish-version.ts';
import { memoryImportPaths } from './memory/import-memory.ts';
import { systemPaths } from './operations/system-routes.ts';
import { sessionAttachmentPaths } from './sessions/session-attachment.ts';
import { skillImportPaths } from './skills/skill-import.ts';
import { invitationPaths } from './tenants/invitation.ts';
import { deliveryPaths } from './webhooks/delivery.ts';
import { inboundWebhookPaths } from './webhooks/inbound-webhook.ts';
import { skillCallPaths } from './webhooks/skill-call.ts';

const documented = [
  systemPaths,
  inboundWebhookPaths,
  deliveryPaths,
  paymentWebhookPaths,
  oauthCallbackPaths,
  auditExportPaths,
  tenantChangePaths,
  skillImportPaths,
  sessionAttachmentPaths,
  mailAttachmentPaths,
  filePaths,
  picturePaths,
  fileScanPaths,
  memoryImportPaths,
  publishVersionPaths,
  skillCallPaths,
  signInPaths,
  directSignInPaths,
  invitationPaths,
] as const;

/** The types of all plain routes, by operation id. */
export type PlainRows = PlainRowsOf<(typeof documented)[number]>;

/** The OpenAPI entries of all routes that are in no table of operations. */
export const plainPaths: PlainPaths = Object.assign({}, ...documented);
