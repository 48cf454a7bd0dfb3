/** `quorate/opentelemetry`: spans and metrics of an instance. Needs `@opentelemetry/api`, and loads nothing else. */
export { instrument, type InstrumentOptions } from './instrument.js';
