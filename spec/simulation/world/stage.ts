/**
 * The servers, clients and links of a simulated run, and the faults that strike them.
 */
import { Redlock } from '../../../lib/redlock.js';
import type { RedlockOptions } from '../../../lib/input/options.js';
import type { Checker } from '../checker/checker.js';
import { SimulatedClient } from './client.js';
import { FailOver } from './fail-over.js';
import { type Fault, type FaultKind, sendAway } from './faults.js';
import { SimulatedLink } from './link.js';
import { Place } from './place.js';
import { type Seeded, SeededRandom } from './seeded.js';
import { WALL_US, type World } from './world.js';
import { kindOf } from '../../support/commands.js';

export interface Cast {
  readonly servers: number;
  readonly clients: number;
  /** How far the rates of clocks differ at most, as a fraction. */
  readonly drift: number;
  /** How far the wall clocks of servers and clients differ at first, in ms. */
  readonly skewMs: number;
  readonly options: RedlockOptions;
  /** Connections break now and then when a script of this name is sent. */
  readonly breaksAt: string | undefined;
  /** Pushes are late by seconds now and then. */
  readonly hasLatePushes: boolean;
  /** How long a link waits at most before it connects again, in ms; a moment by default. */
  readonly reconnectMs?: number;
}

/** The share of scripts that are lost when their connection breaks. */
const LOST = 0.3;

/** One client's process with an instance over all servers. */
export interface Player {
  readonly client: SimulatedClient;
  readonly links: readonly SimulatedLink[];
  /** After an instance was closed, the next one. */
  redlock: Redlock;
  /** Opens another instance over the same links. */
  readonly open: () => Redlock;
  /** Its instance is closed now and then: no lease is handed over to it. */
  isClosing: boolean;
  disturbedAtMs: number;
}

export class Stage {
  readonly world: World;
  readonly checker: Checker;
  readonly places: readonly Place[];
  readonly players: readonly Player[];
  /** How many faults of each kind struck. */
  readonly struck = new Map<FaultKind, number>();
  readonly #underWay = new Map<Fault, () => void>();
  #isHealed = false;

  constructor(world: World, checker: Checker, seeded: Seeded, cast: Cast) {
    this.world = world;
    this.checker = checker;
    const clocks = seeded.fork('clocks');
    const rate = (): number => 1 + clocks.between(-cast.drift / 2, cast.drift / 2);
    this.places = Array.from({ length: cast.servers }, (_, i) => {
      const clock = { rate: rate(), offsetMs: clocks.between(0, cast.skewMs) };
      return new Place(`m${i + 1}`, world, seeded.fork(`memory ${i}`), clock);
    });
    checker.watches(this.places.map(({ server }) => server));
    for (const { server } of this.places) {
      server.onExecuted = (command, reply) => checker.executed(server, command, reply);
      server.onPublished = (text) => checker.published(server, text);
    }
    this.players = Array.from({ length: cast.clients }, (_, i) =>
      this.#player(`c${i + 1}`, rate(), seeded.fork(`c${i + 1}`), cast),
    );
  }

  get links(): readonly SimulatedLink[] {
    return this.players.flatMap(({ links }) => links);
  }

  /** Since when nothing has disturbed the messages of this link. */
  calmSinceMs(link: SimulatedLink): number {
    const place = this.places.find(({ server }) => server === link.server);
    const player = this.players.find(({ client }) => client === link.client);
    const isSlow = link.slowness > 1 || link.awayMs > 0 || link.server.error !== undefined;
    if (isSlow) return this.world.nowMs;
    return Math.max(link.disturbedAtMs, place?.disturbedAtMs ?? 0, player?.disturbedAtMs ?? 0);
  }

  /** Whether faults explain an error that nothing else does. */
  excuses(code: string): boolean {
    return code === 'MISCONFIGURED' && this.struck.has('server full');
  }

  schedule(plan: readonly Fault[]): void {
    for (const fault of plan) {
      const saveAtMs = fault.atMs - fault.snapshotAgeMs;
      if (fault.data === 'old')
        this.world.at(saveAtMs, () => this.places[fault.server]?.server.save(), false);
      this.world.at(fault.atMs, () => this.begin(fault));
    }
  }

  /** The fault strikes now, if it can, and ends after its time. */
  begin(fault: Fault): void {
    if (this.#isHealed) return;
    const end = this.#strike(fault);
    if (end === undefined) return;
    this.struck.set(fault.kind, (this.struck.get(fault.kind) ?? 0) + 1);
    this.world.note('PLAN', `fault ${fault.id}: ${this.#describe(fault)}`);
    this.#disturb(fault);
    this.#underWay.set(fault, end);
    this.world.after(fault.durationMs, () => this.#end(fault, end));
  }

  /** Heals all faults; nothing goes wrong from now on. */
  heal(): void {
    this.world.note('PLAN', 'everything is put right');
    this.#isHealed = true;
    for (const [fault, end] of [...this.#underWay]) this.#end(fault, end);
    for (const link of this.links) link.calm();
  }

  /** The client's instance was closed: it gets a new one. */
  renew(player: Player): void {
    player.redlock = player.open();
  }

  #player(name: string, rate: number, seeded: Seeded, cast: Cast): Player {
    const { breaksAt, hasLatePushes, options, reconnectMs, skewMs } = cast;
    const { checker, world } = this;
    const client = new SimulatedClient(name, world, rate);
    const resends = seeded.chance(0.5);
    const links = this.places.map(({ server }) => {
      const network = seeded.fork(server.name);
      const tell = (command: Parameters<typeof checker.orphaned>[0], isOrphaned: boolean): void => {
        if (isOrphaned) checker.orphaned(command);
      };
      const link = new SimulatedLink({
        world,
        client,
        server,
        seeded: network,
        resends,
        hasLatePushes,
        reconnectMs,
        tell,
      });
      const breaking = network.fork('breaking');
      link.onSent = (command) => {
        checker.sent(client, server, command);
        if (breaksAt === undefined || this.#isHealed || kindOf(command) !== breaksAt) return;
        if (breaking.chance(LOST)) world.after(0, () => link.cut(false));
      };
      link.onAnswered = (command) => checker.answered(server, command);
      return link;
    });
    const random = new SeededRandom(name, seeded.fork('random'));
    const { clock } = client;
    client.wallStepMs = seeded.fork('wall').between(0, skewMs);
    const wall = (): number => WALL_US / 1_000 + client.wallMs();
    const environment = {
      transports: links,
      clock,
      timers: client,
      random,
      wall,
      idle: () => client.ranMs(), // while it is paused, it is busy with something else
      disconnect: () => undefined,
    };
    const open = (): Redlock => new Redlock(environment, options);
    return { client, links, redlock: open(), open, isClosing: false, disturbedAtMs: 0 };
  }

  #end(fault: Fault, end: () => void): void {
    if (!this.#underWay.delete(fault)) return;
    this.world.note('PLAN', `fault ${fault.id} ends`);
    this.#disturb(fault);
    end();
  }

  #disturb({ kind, server, client }: Fault): void {
    const { nowMs } = this.world;
    const [place, player] = [this.places[server], this.players[client]];
    if (kind.startsWith('server') || kind === 'scripts flushed') {
      if (place !== undefined) place.disturbedAtMs = nowMs;
    } else if (kind.startsWith('client')) {
      if (player !== undefined) player.disturbedAtMs = nowMs;
    }
  }

  /** @returns a function that ends the fault; undefined if it cannot strike */
  #strike(fault: Fault): (() => void) | undefined {
    const place = this.places[fault.server];
    const player = this.players[fault.client];
    if (place === undefined || player === undefined) return undefined;
    if (fault.kind.startsWith('client')) return strikeClient(fault, player, this.checker);
    const links = this.players.flatMap((one) => one.links[fault.server] ?? []);
    if (fault.kind.startsWith('server') || fault.kind === 'scripts flushed')
      return this.#strikeServer(fault, place, links);
    const link = player.links[fault.server];
    return link === undefined ? undefined : strikeLink(fault, link);
  }

  #strikeServer(fault: Fault, place: Place, links: readonly SimulatedLink[]): (() => void) | undefined {
    const { server } = place;
    if (!server.isUp || server.isStopped || server.error !== undefined) return undefined;
    const { checker, world } = this;
    if (fault.kind !== 'server failed over') return strikeServer(fault, place, links, checker);
    const failOver = new FailOver({ world, place, links, checker }, fault);
    return () => failOver.end();
  }

  #describe({ kind, server, client, durationMs, data, direction, drops, stepMs }: Fault): string {
    const lasting = `${Math.round(durationMs)} ms`;
    const [m, c] = [this.places[server]?.server.name, this.players[client]?.client.name];
    switch (kind) {
      case 'server crash':
        return `${m} crashes, and is back after ${lasting} with its data ${data}`;
      case 'server failed over':
        return `${m} hangs, and fails over within ${lasting} to a server with its data ${data}`;
      case 'connection cut':
        return `connection ${c} to ${m} is cut; what is under way ${drops ? 'is lost' : 'arrives'}`;
      case 'pushes cut':
      case 'pushes silenced':
        return `${c}'s connection for ${kind.replace(' ', ` of ${m} is `)}`;
      case 'partition':
        return `${c} and ${m} are cut off for ${lasting}, ${direction}; then the connection ${drops ? 'breaks' : 'goes on'}`;
      case 'slow link':
        return `${c} to ${m} is slow for ${lasting}`;
      case 'server clock stepped':
        return `${m}'s clock steps by ${Math.round(stepMs)} ms`;
      default:
        return `${kind}: ${kind.startsWith('client') ? c : m}, ${lasting}`;
    }
  }
}

const nothing = (): void => undefined;

function strikeServer(
  fault: Fault,
  place: Place,
  links: readonly SimulatedLink[],
  checker: Checker,
): (() => void) | undefined {
  const { server } = place;
  const cutAll = (): void => {
    for (const link of links) {
      link.cut(false);
      link.cutPushes();
    }
  };
  switch (fault.kind) {
    case 'server crash':
      server.kill();
      if (fault.data !== 'kept') checker.lost(server);
      cutAll();
      return () => {
        server.start(fault.data);
        checker.restored(server);
      };
    case 'server replaced':
      server.start('lost');
      checker.lost(server);
      cutAll();
      return nothing;
    case 'server emptied':
      server.flush();
      checker.lost(server);
      return nothing;
    case 'scripts flushed':
      server.flushScripts();
      return nothing;
    case 'server stopped':
      server.stop();
      return () => {
        server.goOn();
        checker.caughtUp(links);
      };
    case 'server loading':
      server.error = 'LOADING Redis is loading the dataset in memory';
      return () => void (server.error = undefined);
    case 'server full':
      server.isFull = true;
      return () => void (server.isFull = false);
    case 'server clock stepped':
      place.stepMs += fault.stepMs;
      return nothing;
    default:
      return undefined;
  }
}

function strikeLink(fault: Fault, link: SimulatedLink): (() => void) | undefined {
  if (link.state !== 'ready' || link.slowness > 1 || link.isBlocked) return undefined;
  switch (fault.kind) {
    case 'connection cut':
      link.cut(!fault.drops);
      return nothing;
    case 'pushes cut':
    case 'pushes silenced':
      link[fault.kind === 'pushes cut' ? 'cutPushes' : 'silencePushes']();
      return nothing;
    case 'partition':
      link.block(fault.direction);
      return () => link.heal(fault.drops);
    case 'slow link':
      link.slowness = 25;
      return () => void (link.slowness = 1);
    default:
      return undefined;
  }
}

function strikeClient(fault: Fault, player: Player, checker: Checker): (() => void) | undefined {
  const { client, links } = player;
  if (!client.isAlive || client.isPaused) return undefined;
  switch (fault.kind) {
    case 'client paused':
      client.pause();
      return () => client.goOn();
    case 'client suspended':
      client.suspend();
      return () => client.goOn();
    case 'client far away':
      return sendAway(links, fault.awayMs ?? 0);
    case 'client crash':
      client.crash();
      checker.crashed(client);
      for (const link of links) {
        link.cut(!fault.drops);
        link.cutPushes();
      }
      return nothing;
    case 'client wall clock stepped':
      client.wallStepMs += fault.stepMs;
      return nothing;
    default:
      return undefined;
  }
}
