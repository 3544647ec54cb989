import { auditExportPaths } from './audit/audit-export.ts';
import type { PlainPaths } from './http/openapi.ts';
import { signInPaths } from './identity/sign-in.ts';
import { systemPaths } from './operations/system-routes.ts';
import { deliveryPaths } from './webhooks/delivery.ts';
import { hookPaths } from './webhooks/inbound-webhook.ts';

/** Every route that stands outside the tables of operations, as it is in the OpenAPI document. */
export const plainPaths: PlainPaths = { ...systemPaths, ...hookPaths, ...deliveryPaths, ...auditExportPaths, ...signInPaths };
