import type { Recorded } from '../event.ts';
import { notFound } from '../refusal.ts';

export const category = 'mailbox';
export const platform = true;

/** `internal`: mail with agents of the same tenant; `external`: with all others. */
export const MAILBOX_KINDS = ['internal', 'external'] as const;
export type MailboxKind = (typeof MAILBOX_KINDS)[number];

/** Lets the audit log find all events of an agent's mailboxes. */
type OfAgent = { agent_id: string };

export type NewMailbox = OfAgent & { tenant_id: string; kind: MailboxKind; address: string };

export type MailboxEvent =
  | { type: 'MailboxProvisioned'; data: NewMailbox }
  | { type: 'MailboxEnabled'; data: OfAgent }
  | { type: 'MailboxDisabled'; data: OfAgent }
  | { type: 'MailboxPaused'; data: OfAgent }
  | { type: 'MailboxResumed'; data: OfAgent };

/**
 * `is_enabled`: the settings of tenant and agent allowed it when `converge` last checked. After `is_paused_by_person`, only a super-admin
 * can resume it.
 */
export type Mailbox = NewMailbox & {
  status: 'absent' | 'present';
  id: string;
  is_enabled: boolean;
  is_paused_by_person: boolean;
  created_at: string;
  updated_at: string;
};

export const initial: Mailbox = {
  status: 'absent',
  id: '',
  tenant_id: '',
  agent_id: '',
  kind: 'internal',
  address: '',
  is_enabled: true,
  is_paused_by_person: false,
  created_at: '',
  updated_at: '',
};

const applyEvent = ({ type, data, id, at }: Recorded<MailboxEvent>): Partial<Mailbox> => {
  switch (type) {
    case 'MailboxProvisioned':
      return { ...data, status: 'present', id, created_at: at };
    case 'MailboxEnabled':
      return { is_enabled: true };
    case 'MailboxDisabled':
      return { is_enabled: false };
    case 'MailboxPaused':
      return { is_paused_by_person: true };
    case 'MailboxResumed':
      return { is_paused_by_person: false };
  }
};

export const evolve = (mailbox: Mailbox, event: Recorded<MailboxEvent>): Mailbox => ({
  ...mailbox,
  ...applyEvent(event),
  updated_at: event.at,
});

export const isActive = ({ status, is_enabled, is_paused_by_person }: Mailbox): boolean =>
  status === 'present' && is_enabled && !is_paused_by_person;

/** @throws Refusal not_found */
export const assertExists = ({ status }: Mailbox): void => {
  if (status === 'absent') throw notFound();
};

/** Creates the mailbox if it is allowed, and enables or disables an existing one. One that a super-admin has paused stays paused. */
export const converge =
  (wanted: NewMailbox, isAllowed: boolean) =>
  ({ status, is_enabled, agent_id }: Mailbox): MailboxEvent[] => {
    if (status === 'absent') return isAllowed ? [{ type: 'MailboxProvisioned', data: wanted }] : [];
    if (is_enabled === isAllowed) return [];
    return [{ type: isAllowed ? 'MailboxEnabled' : 'MailboxDisabled', data: { agent_id } }];
  };

/** Only for a super-admin. @throws Refusal not_found */
export const setPaused =
  (is_paused: boolean) =>
  (mailbox: Mailbox): MailboxEvent[] => {
    assertExists(mailbox);
    const { is_paused_by_person, agent_id } = mailbox;
    if (is_paused_by_person === is_paused) return [];
    return [{ type: is_paused ? 'MailboxPaused' : 'MailboxResumed', data: { agent_id } }];
  };
