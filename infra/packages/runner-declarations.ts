import { z } from 'zod';
import { BudgetReservation } from '../../api/billing/budget.ts';
import { AgentRuntime } from '../../api/runners/agent-runtime.ts';
import { TaskReport } from '../../commands/benchmarks/task-report.ts';
import { BudgetReserve } from '../../commands/billing/budget.ts';
import { MemoryRemember } from '../../commands/memory/remember.ts';
import { MessageAppend } from '../../commands/sessions/append-message.ts';
import { ApprovalRequest } from '../../commands/sessions/approval-text.ts';
import { SessionEnd } from '../../commands/sessions/end-session.ts';
import { SessionStart } from '../../commands/sessions/start-session.ts';
import { MemoryEntry } from '../../projections/memory/memory-import.ts';
import { ApprovalRead } from '../../projections/sessions/approval.ts';
import { TaskSessionRead } from '../../projections/sessions/session.ts';
import { AttachmentRead, TaskMessageRead } from '../../projections/sessions/session-message.ts';
import type * as types from '../runner/api-types.ts';
import { importSchemas, type OpenApi } from './operation-declarations.ts';
import { type Schema, typeOf } from './schema-types.ts';

/** The schemas from which `infra/runner/api-types.ts` derives its types, by the names of these types. */
const SCHEMAS = {
  Session: TaskSessionRead,
  Message: TaskMessageRead,
  Attachment: AttachmentRead,
  NewSession: SessionStart,
  NewMessage: MessageAppend,
  End: SessionEnd,
  Entry: MemoryEntry,
  NewEntry: MemoryRemember,
  Approval: ApprovalRead,
  NewApproval: ApprovalRequest,
  Reservation: BudgetReservation,
  NewReservation: BudgetReserve,
  Report: TaskReport,
  AgentSettings: AgentRuntime,
} as const satisfies Readonly<Record<keyof typeof types, z.ZodType>>;

/** Without names, the schema contains those that it uses. */
const WITHOUT_NAMES = z.registry<z.core.GlobalMeta>();

const typeOfSchema = ({ components }: OpenApi, schema: z.ZodType): string => {
  const id = schema.meta()?.id ?? '';
  return id in components.schemas ? id : typeOf(z.toJSONSchema(schema, { io: 'input', metadata: WITHOUT_NAMES }) as Schema);
};

/** Returns the text of a declaration file that replaces `infra/runner/api-types.ts`. */
export const runnerDeclarations = (document: OpenApi): string => {
  const text = Object.entries(SCHEMAS)
    .map(([name, schema]) => `export type ${name} = ${typeOfSchema(document, schema)};\n`)
    .join('');
  return importSchemas(document, text) + text;
};
