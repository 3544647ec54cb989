import { deliveries } from '../../projections/deliveries/delivery.ts';
import { projections } from '../../projections/registry.ts';
import { createOpened } from '../opened.ts';
import { startProjections } from '../projector/projector.ts';
import { startReactors } from '../reactors/reactor.ts';
import { type Messaging, startMessaging, UNCONNECTED } from '../relay/messaging.ts';
import { brokerReactors, reactors } from './reactors.ts';
import type { WorkServices } from './work-services.ts';

/**
 * Runs the projections and the reactors until `close` is called. They wait for the services that they need, without a time limit. `close`
 * closes none of the services, except a broker without a connection. `messaging` returns undefined before the broker is connected.
 */
export const createWork = async (services: WorkServices) => {
  const { log, databaseUrl, logger, broker } = services;
  const { keep, close } = createOpened(logger);
  let messaging: Messaging | undefined;
  const statuses = () => messaging?.statuses() ?? [UNCONNECTED];
  const projector = keep('projections', await startProjections({ log, databaseUrl, projections, logger, reactors: statuses }));
  const isWriter = (): boolean => projector.status().some(({ name, writer }) => name === deliveries.name && writer);
  keep('reactors', startReactors(reactors, services));
  const ofBroker = broker.whenConnected().then((nats) => {
    if (!nats) return;
    messaging = keep('messaging', startMessaging({ ...services, nats, isWriter }));
    keep('reactors of the broker', startReactors(brokerReactors, { ...services, nats }));
  });
  return {
    projector,
    isWriter,
    messaging: (): Messaging | undefined => messaging,
    close: async (): Promise<void> => {
      if (!broker.isHealthy()) await broker.close();
      await ofBroker;
      await close();
    },
  };
};

export type Work = Awaited<ReturnType<typeof createWork>>;
