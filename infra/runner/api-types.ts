import type { z } from 'zod';
import type { BudgetReservation } from '../../api/billing/budget.ts';
import type { AgentRuntime } from '../../api/runners/agent-runtime.ts';
import type { TaskReport } from '../../commands/benchmarks/task-report.ts';
import type { BudgetReserve } from '../../commands/billing/budget.ts';
import type { MemoryRemember } from '../../commands/memory/remember.ts';
import type { MessageAppend } from '../../commands/sessions/append-message.ts';
import type { ApprovalRequest } from '../../commands/sessions/approval-text.ts';
import type { SessionEnd } from '../../commands/sessions/end-session.ts';
import type { SessionStart } from '../../commands/sessions/start-session.ts';
import type { MemoryEntry } from '../../projections/memory/memory-import.ts';
import type { ApprovalRead } from '../../projections/sessions/approval.ts';
import type { TaskSessionRead } from '../../projections/sessions/session.ts';
import type { AttachmentRead, TaskMessageRead } from '../../projections/sessions/session-message.ts';

// The types of the package annals-client come from the OpenAPI document instead (infra/packages/runner-declarations.ts).

export type Session = z.output<typeof TaskSessionRead>;
export type Message = z.output<typeof TaskMessageRead>;
export type Attachment = z.output<typeof AttachmentRead>;
export type NewSession = z.input<typeof SessionStart>;
export type NewMessage = z.input<typeof MessageAppend>;
export type End = z.input<typeof SessionEnd>;
export type Entry = z.output<typeof MemoryEntry>;
export type NewEntry = z.input<typeof MemoryRemember>;
export type Approval = z.output<typeof ApprovalRead>;
export type NewApproval = z.input<typeof ApprovalRequest>;
export type Reservation = z.output<typeof BudgetReservation>;
export type NewReservation = z.input<typeof BudgetReserve>;
export type Report = z.input<typeof TaskReport>;
export type AgentSettings = z.output<typeof AgentRuntime>;
