import type { NatsConnection } from 'nats';
import type { Logger } from 'pino';
import type { Reads } from '../../projections/read-model.ts';
import type { Log } from '../eventstore/event-log.ts';
import { RELAY_REACTOR, type ReactorStatus } from '../projector/reactor-status.ts';
import { type AcknowledgementRecorder, type SettledMessage, startAcknowledgementRecorder } from './record-acknowledgements.ts';
import { startPublicationRecorder } from './record-publications.ts';
import { startRedrive } from './redrive.ts';
import type { RelayProcess } from './relay-process.ts';

const STOPPED_STREAM_REMEDY =
  'free disk space for nats-server; if that does not help, restart nats-server: its stream stopped at a write error';

const relayStatus = (relay: RelayProcess): ReactorStatus => {
  const { state, last_error, is_stream_stopped } = relay.status();
  const works = state === 'relaying' || state === 'closed';
  if (works) return { name: RELAY_REACTOR, works, reason: null };
  return { name: RELAY_REACTOR, works, reason: last_error ?? 'it is starting', remedy: is_stream_stopped ? STOPPED_STREAM_REMEDY : null };
};

const recorderStatus = (recorder: AcknowledgementRecorder): ReactorStatus => {
  const { reason, isStreamStopped } = recorder.status();
  return { name: 'recording of acknowledgements', works: reason === null, reason, remedy: isStreamStopped ? STOPPED_STREAM_REMEDY : null };
};

/** The status of the relay while there has never been a connection to the broker. */
export const UNCONNECTED: ReactorStatus = { name: RELAY_REACTOR, works: false, reason: 'it is starting', remedy: null };

export type MessagingServices = {
  readonly log: Log;
  readonly nats: NatsConnection;
  readonly logger: Logger;
  readonly sessions: { readonly reads: Pick<Reads, 'rows'> };
  readonly startRelay: () => RelayProcess;
  readonly onSettled?: ((settled: SettledMessage) => void) | undefined;
  /** Whether this process writes the read model of deliveries. Only then does it look for lost messages. */
  readonly isWriter: () => boolean;
};

/** Publishes messages to runners, records what becomes of them, and sends again what the broker has lost. */
export const startMessaging = ({ log, nats, logger, sessions, startRelay, onSettled, isWriter }: MessagingServices) => {
  const relay = startRelay();
  const recorder = startAcknowledgementRecorder({ log, nats, logger, ...(onSettled && { onSettled }) });
  const publications = startPublicationRecorder({ log, relay, logger });
  const redrive = startRedrive({
    ...{ log, nats, logger, reads: sessions.reads, publishedThrough: relay.publishedThrough },
    isResponsible: isWriter,
    isRecording: () => recorder.status().reason === null,
  });
  return {
    relay,
    statuses: () => [relayStatus(relay), recorderStatus(recorder)],
    isStreamStopped: () => relay.status().is_stream_stopped || recorder.status().isStreamStopped,
    close: async () => void (await Promise.all([relay, recorder, publications, redrive].map(({ close }) => close()))),
  };
};

export type Messaging = ReturnType<typeof startMessaging>;
