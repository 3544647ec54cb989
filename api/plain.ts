import { auditExportPaths } from './audit-export.ts';
import { deliveryPaths } from './delivery.ts';
import { hookPaths } from './hooks.ts';
import type { PlainPaths } from './openapi.ts';
import { signInPaths } from './sign-in.ts';
import { systemPaths } from './system.ts';

/** Every route that stands outside the tables of operations, as it is in the OpenAPI document. */
export const plainPaths: PlainPaths = { ...systemPaths, ...hookPaths, ...deliveryPaths, ...auditExportPaths, ...signInPaths };
