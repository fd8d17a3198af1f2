-- nvim --clean --headless -c 'luafile init.lua' -c edit -c 'luafile lsp.lua' train.py, for Neovim 0.7 and newer.
-- init.lua is what a user has; it starts the server.  Reports JSON lines; exits with 1 at the first surprise.

local PATIENCE = 20000

local common = dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "common.lua")
local say, text = common.say, common.text

local function until_true(what, test)
  assert(vim.wait(PATIENCE, test, 20), what)
end

-- The client that the user's configuration has started.
local function client_of_server()
  local clients = vim.lsp.get_clients and vim.lsp.get_clients() or vim.lsp.get_active_clients()
  for _, client in ipairs(clients) do
    if client.name == "meshlens" then
      return client
    end
  end
end

local function stopped(id)
  local client = vim.lsp.get_client_by_id(id)
  return client == nil or client.is_stopped == true or (type(client.is_stopped) == "function" and client.is_stopped())
end

-- Puts the cursor on a text, some bytes in.
local function go(buffer, needle, shift)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    local column = line:find(needle, 1, true)
    if column then
      vim.api.nvim_win_set_cursor(0, { number, column - 1 + shift })
      return
    end
  end
  error(needle .. " is not there")
end

local function main()
  local buffer = vim.api.nvim_get_current_buf()
  until_true("no client", client_of_server)
  local client = client_of_server()
  local id = client.id
  until_true("no initialize", function()
    return client.initialized or (client.server_capabilities and next(client.server_capabilities) ~= nil)
  end)
  say("root", client.config.root_dir)
  local version = vim.version()
  say("version", { version.major, version.minor })
  say("encoding", client.offset_encoding)

  until_true("no diagnostics", function() return #vim.diagnostic.get(buffer) > 0 end)
  local found = vim.diagnostic.get(buffer)[1]
  local line = vim.api.nvim_buf_get_lines(buffer, found.lnum, found.lnum + 1, false)[1]
  say("diagnostic", { found.code, line:sub(found.col + 1, found.end_col), found.source })

  local function ask(method)
    local newer = vim.fn.has("nvim-0.11") == 1
    local params = newer and vim.lsp.util.make_position_params(0, client.offset_encoding)
      or vim.lsp.util.make_position_params()
    local answers = vim.lsp.buf_request_sync(buffer, method, params, PATIENCE) or {}
    return answers[id] and answers[id].result
  end

  go(buffer, "pmean", 1)
  say("hover", ask("textDocument/hover").contents.value)
  go(buffer, "bacth", 0)
  say("completion", ask("textDocument/completion").items[1].label)
  go(buffer, "é", 0)
  say("elsewhere", ask("textDocument/hover") == nil and ask("textDocument/completion") == nil)
  go(buffer, '"batch"', 2)
  vim.lsp.buf.definition()
  until_true("no jump", function()
    return vim.api.nvim_get_current_line():find("axis_name", 1, true) ~= nil
  end)
  say("definition", vim.api.nvim_get_current_line())

  say("unmapped", vim.tbl_filter(function(keys)
    return vim.tbl_isempty(vim.fn.maparg(keys, "n", false, true))
  end, { "K", "gra", "<C-W>d" }))

  -- The editor's own way to a code action; its menu is answered here.
  go(buffer, "bacth", 2)
  vim.ui.select = function(items, _, choose)
    say("menu", #items)
    choose(items[1], 1)
  end
  vim.api.nvim_feedkeys("gra", "mx", false)
  until_true("the action changed nothing", function() return not text(buffer):find("bacth", 1, true) end)
  until_true("the finding stayed", function() return #vim.diagnostic.get(buffer) == 0 end)
  say("fixed", text(buffer))

  go(buffer, 'pmean(x, "batch"', 11)
  vim.lsp.buf.rename("rows")
  local names = vim.fn.getcwd() .. "/names.py"
  until_true("no rename", function() return text(buffer):find('pmean(x, "rows"', 1, true) ~= nil end)
  until_true("the finding came back", function() return #vim.diagnostic.get(buffer) == 0 end)
  say("renamed", text(buffer))
  say("names", text(vim.fn.bufadd(names)))

  vim.lsp.stop_client(id)
  until_true("the server did not stop", function() return stopped(id) end)
  say("pass", true)
end

common.run(main)
