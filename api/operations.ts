import type { ReadDelivery } from '../commands/delivery.ts';
import type { MakeBrokerUser } from '../commands/runner-credential.ts';
import { accessOperations } from './access.ts';
import { agentOperations } from './agent.ts';
import { allowedAccountOperations } from './allowed-account.ts';
import { apikeyOperations } from './apikey.ts';
import { auditOperations } from './audit.ts';
import { deliveryOperationsOf } from './delivery.ts';
import { historyOperations } from './history.ts';
import { integrationOperations } from './integration.ts';
import { meOperations } from './me.ts';
import { memberOperations } from './member.ts';
import { modelOperations } from './model.ts';
import type { Operations } from './operation.ts';
import { type Operators, opsOperationsOf } from './ops.ts';
import { planOperations } from './plan.ts';
import { runnerCredentialOperations } from './runner-credential.ts';
import { tenantOperations } from './tenant.ts';
import { userOperations } from './user.ts';

/** What operations need of the drivers beside the context: the broker's side of runner credentials, and the bytes of deliveries. */
export type OperationPorts = { readonly makeUser: MakeBrokerUser; readonly storedDelivery: ReadDelivery; readonly operators: Operators };

/** Every area's table; its name is the heading under which the document shows it. */
const areasOf = ({ makeUser, storedDelivery, operators }: OperationPorts): Readonly<Record<string, Operations>> => ({
  Agents: { ...agentOperations, ...historyOperations },
  Access: accessOperations,
  Models: modelOperations,
  'API keys': apikeyOperations,
  'Webhooks in': { ...integrationOperations, ...deliveryOperationsOf(storedDelivery) },
  Runners: runnerCredentialOperations(makeUser),
  Tenants: { ...tenantOperations, ...memberOperations, ...planOperations },
  Users: { ...meOperations, ...userOperations, ...allowedAccountOperations },
  Audit: auditOperations,
  Operators: opsOperationsOf(operators),
});

/** Every operation there is, by name. */
export const operationsOf = (ports: OperationPorts): Operations =>
  Object.fromEntries(
    Object.entries(areasOf(ports)).flatMap(([area, operations]) =>
      Object.entries(operations).map(([name, row]) => [name, { ...row, area }]),
    ),
  );
