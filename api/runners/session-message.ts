import { SPEC_VERSION } from '../../domain/runners/cloud-event.ts';
import type { RunnerMessageType } from '../../domain/runners/runner-message.ts';
import { COMMON_ATTRIBUTES, commonAttributes, commonHeaders, id, text, uuid } from './message-schemas.ts';

const orNull = <T extends object>(schema: T) => ({ oneOf: [schema, { type: 'null' }] });

const headers = {
  type: 'object',
  required: ['Nats-Msg-Id', 'Annals-Position', 'Annals-Session'],
  properties: {
    ...commonHeaders,
    'Annals-Session': id('The session'),
  },
};

const file = {
  type: 'object',
  required: ['attachment_id', 'filename', 'content_type', 'size_bytes', 'sha256', 'url'],
  properties: {
    attachment_id: id('The file'),
    filename: text('Its name, without folders'),
    content_type: text('Its type, found by its content'),
    size_bytes: { type: 'integer' },
    sha256: text('The SHA-256 of its content in hex'),
    url: { type: 'string', format: 'uri', description: 'Where to download it; the runner key gives access' },
  },
  additionalProperties: false,
};

const message = {
  type: 'object',
  required: ['id', 'role', 'content', 'created_at'],
  properties: {
    id: id('The message'),
    role: { const: 'user' },
    content: orNull(text('What the person has written, after redaction; null if it can no longer be decrypted')),
    created_at: { type: 'string', format: 'date-time' },
  },
  additionalProperties: false,
};

const decision = {
  type: 'object',
  required: ['message_id', 'decision', 'comment'],
  properties: {
    message_id: id('The message with which the agent asked'),
    decision: { enum: ['approved', 'denied', 'expired'], description: '`expired`: there was no decision in time' },
    comment: orNull(text('What the person has written about it, after redaction; null if nothing, or if it can no longer be decrypted')),
  },
  additionalProperties: false,
};

const STARTED = 'annals.session.started';
const DECISION = 'annals.session.decision';
const SENT = 'annals.session.message';

const dataSchema = (type: string) => ({
  type: 'object',
  required: ['session', 'message', 'files', ...(type === DECISION ? ['decision'] : [])],
  properties: {
    session: {
      type: 'object',
      required: type === STARTED ? ['id', 'title', 'continues_id'] : ['id', 'title'],
      properties: {
        id: id('The session'),
        title: orNull(text('What the session is about')),
        ...(type === STARTED ? { continues_id: orNull(id('The session that this one continues')) } : {}),
      },
      additionalProperties: false,
    },
    message: type === SENT ? message : type === STARTED ? orNull(message) : { type: 'null' },
    files: { type: 'array', items: file, description: 'The files of the message' },
    ...(type === DECISION ? { decision } : {}),
  },
  additionalProperties: false,
});

const payload = (type: string) => ({
  type: 'object',
  required: [
    ...COMMON_ATTRIBUTES,
    'datacontenttype',
    'tenant',
    'agent',
    'session',
    ...(type === DECISION ? [] : ['user']),
    'contenttrust',
    'data',
  ],
  properties: {
    ...commonAttributes(type, 'The sessions of the agent', 'The session'),
    datacontenttype: { const: 'application/json' },
    tenant: id('The tenant'),
    agent: id('The agent'),
    session: id('The session; the same as subject'),
    user: id(type === DECISION ? 'The user who decided; absent if the approval has expired' : 'The user who caused the event'),
    previous: uuid('The `id` of the message of this session before this one, which is to be processed first; absent in the first'),
    contenttrust: { const: 'trusted', description: 'A member who may assign work to the agent wrote the data' },
    data: dataSchema(type),
  },
});

const idOf = (name: string): string => `c${name.padEnd(24, '0')}`;
const SHA256 = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';

const exampleData = (type: string, tenantUrl: string) => {
  const session = { id: idOf('session'), title: 'Review of pull request 42', ...(type === STARTED ? { continues_id: null } : {}) };
  if (type === DECISION)
    return {
      session,
      message: null,
      files: [],
      decision: { message_id: idOf('message'), decision: 'approved', comment: 'Only after 18:00.' },
    };
  if (type !== STARTED && type !== SENT) return { session, message: null, files: [] };
  const content = type === STARTED ? 'Please review pull request 42.' : 'Look at the attached log, too.';
  const message = { id: idOf('message'), role: 'user', content, created_at: '2026-01-01T12:00:00.000Z' };
  const found = { attachment_id: idOf('attachment'), filename: 'build.log', content_type: 'text/plain', size_bytes: 2048, sha256: SHA256 };
  return { session, message, files: type === SENT ? [{ ...found, url: `${tenantUrl}/files/${SHA256}` }] : [] };
};

/** The ids are invented. */
const example = (type: string, publicUrl: string) => {
  const eventId = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff';
  const [tenant, agent, session] = [idOf('tenant'), idOf('agent'), idOf('session')];
  const tenantUrl = `${publicUrl}/tenant/${tenant}`;
  return {
    headers: { 'Nats-Msg-Id': eventId, 'Annals-Position': '4711:4711', 'Annals-Session': session },
    payload: {
      specversion: SPEC_VERSION,
      id: eventId,
      source: `${tenantUrl}/agents/${agent}/sessions`,
      type,
      subject: session,
      time: '2026-01-01T12:00:00.000Z',
      datacontenttype: 'application/json',
      tenant,
      agent,
      session,
      user: idOf('user'),
      ...(type === STARTED ? {} : { previous: '0b3f1a52-0d2c-4d07-9a52-3f1d2f9a7c11' }),
      contenttrust: 'trusted',
      data: exampleData(type, tenantUrl),
    },
  };
};

/** Returns the part of the AsyncAPI document about a message of a session. */
export const sessionMessage = ({ type }: RunnerMessageType, publicUrl: string) => ({
  headers,
  payload: payload(type),
  examples: [example(type, publicUrl)],
});
