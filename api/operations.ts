import type { MakeBrokerUser } from '../commands/runner-credential.ts';
import { agentOperations } from './agent.ts';
import { apikeyOperations } from './apikey.ts';
import { auditOperations } from './audit.ts';
import { deliveryOperations } from './delivery.ts';
import { integrationOperations } from './integration.ts';
import { meOperations } from './me.ts';
import { modelOperations } from './model.ts';
import type { Operations } from './operation.ts';
import { runnerCredentialOperations } from './runner-credential.ts';
import { tenantOperations } from './tenant.ts';

/** Every operation there is, by name; `makeUser` is the broker's side of the runner credentials. */
export const operationsOf = (makeUser: MakeBrokerUser): Operations => ({
  ...agentOperations,
  ...apikeyOperations,
  ...auditOperations,
  ...deliveryOperations,
  ...integrationOperations,
  ...meOperations,
  ...modelOperations,
  ...runnerCredentialOperations(makeUser),
  ...tenantOperations,
});
