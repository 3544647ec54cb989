import { agentOperations } from './agent.ts';
import { apikeyOperations } from './apikey.ts';
import { auditOperations } from './audit.ts';
import { meOperations } from './me.ts';
import { modelOperations } from './model.ts';
import type { Operations } from './operation.ts';
import { tenantOperations } from './tenant.ts';

/** Every operation there is, by name. */
export const operations: Operations = {
  ...agentOperations,
  ...apikeyOperations,
  ...auditOperations,
  ...meOperations,
  ...modelOperations,
  ...tenantOperations,
};
