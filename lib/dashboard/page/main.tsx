/** Where the page begins. */
import { render } from 'preact';
import { App } from './app.js';

const place = document.querySelector('#page');
if (place !== null) render(<App />, place);
